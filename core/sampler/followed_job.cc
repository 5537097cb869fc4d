// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/followed_job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shufflefs {
namespace {

// Opens that may be the first of another order when one is dropped. A claim is
// dropped after about this many unexpected opens.
constexpr size_t kLastOpens = 48;
constexpr uint64_t kPatience = 8;     // epochs without a success
constexpr uint64_t kSearches = 3;     // searches without a success
constexpr uint64_t kBarrenDraws = 3;  // an epoch of repeated draws counts more
constexpr uint64_t kMostPause = 64;   // epochs
// An epoch that misses at most 1 / kWholeShare of the files was not stopped
// early: the loader has drop_last.
constexpr uint64_t kWholeShare = 20;

Recogniser::Options OptionsFor(uint32_t files,
                               FollowedJob::Candidates candidates) {
  Recogniser::Options options;
  options.n = files;
  options.candidates = std::move(candidates);
  return options;
}

// Returns whether to try again. After many barren epochs it rarely is.
bool IsWorthATry(uint64_t barren) {
  return barren < kPatience || (barren & (barren - 1)) == 0;
}

std::vector<CandidateOrder> OrdersOf(const std::vector<uint32_t>& seeds) {
  std::vector<CandidateOrder> orders;
  for (const uint32_t seed : seeds) {
    orders.push_back({SamplerKind::kRandom, seed, 0});
  }
  return orders;
}

std::string RanksOf(const WorkerInterleave& lanes) {
  if (lanes.stride() <= 1) return "";
  return absl::StrCat(", ", lanes.residues().size() == 1 ? "rank " : "ranks ",
                      absl::StrJoin(lanes.residues(), ", "), " of ",
                      lanes.stride());
}

}  // namespace

std::string OrderInWords(const OrderClaim& claim) {
  const CandidateOrder& order = claim.order;
  switch (order.kind) {
    case SamplerKind::kListed:
      return absl::StrCat("sorted names", RanksOf(claim.lanes));
    case SamplerKind::kDistributed:
      return absl::StrCat("DistributedSampler, seed + epoch = ", order.seed,
                          RanksOf(claim.lanes));
    case SamplerKind::kRandom:
      return absl::StrCat("RandomSampler, seed ", order.seed,
                          RanksOf(claim.lanes));
    case SamplerKind::kOwnGenerator:
      return absl::StrCat("RandomSampler, generator seeded with ", order.seed);
    case SamplerKind::kStateful:
      return absl::StrCat("StatefulDataLoader, generator seeded with ",
                          order.seed);
    case SamplerKind::kRepeated:
      return "the same order as in the last epoch";
  }
  return "";
}

FollowedJob::FollowedJob(FileIndex index, Candidates candidates,
                         NewReaders::IsGone is_gone)
    : index_(std::move(index)),
      recogniser_(OptionsFor(index_.size(), std::move(candidates))),
      opens_(index_.size()),
      readers_(std::move(is_gone)) {}

OpenStep FollowedJob::Opened(uint32_t index, uint64_t thread) {
  const EpochOpens::Open open = {index, thread};
  last_.push_back(open);
  if (last_.size() > kLastOpens) last_.pop_front();
  const uint64_t count = opens_.count();
  const bool again = opens_.draws_again();
  const std::vector<EpochOpens::Open> first = FirstOpens(open);
  if (first.empty()) return Feed(open);
  const uint64_t files = index_.size();
  last_count_ = count < files - files / kWholeShare ? count : 0;
  looked_again_ = false;
  if (again) barren_ += kBarrenDraws;
  ++begun_epochs_;
  BeginEpoch(first);
  return OpenStep::kUnjudged;
}

std::vector<EpochOpens::Open> FollowedJob::FirstOpens(
    const EpochOpens::Open& open) {
  std::vector<EpochOpens::Open> taken_over = readers_.Note(open);
  std::vector<EpochOpens::Open> first = opens_.Note(open);
  if (!first.empty()) {
    readers_.Begin(first);
    return first;
  }
  // If the order is known, opens that do not fit it are better evidence. The
  // workers of another rank may merely start later than the first ones.
  if (plan_ != nullptr || taken_over.empty()) return {};
  opens_.Begin(taken_over);
  return taken_over;
}

void FollowedJob::BeginEpoch(const std::vector<EpochOpens::Open>& first) {
  barren_ = was_claimed_ ? 0 : barren_ + 1;
  was_claimed_ = false;
  ++epoch_;
  plan_.reset();
  recogniser_.BeginEpoch(OrdersOf(trail_.Seeds(epoch_)));
  for (const EpochOpens::Open& open : first) {
    recogniser_.OpenedEarly(open.index, open.thread);
  }
}

OpenStep FollowedJob::Feed(const EpochOpens::Open& open) {
  const OpenStep step = recogniser_.Opened(open.index, open.thread);
  if (plan_ == nullptr) return step;
  if (step == OpenStep::kExpected) {
    plan_->Came(open.thread, open.index);
  } else {
    plan_->Opened(open.index);
  }
  if (recogniser_.state() != Recogniser::State::kClaimed) {
    LookAgain();
  } else if (recogniser_.claim()->lanes.residues().size() != planned_ranks_) {
    MakePlan();  // workers of another rank began
  }
  return step;
}

void FollowedJob::LookAgain() {
  plan_.reset();
  // Nearly the whole order was opened, so its end was expected.
  const bool ended =
      opens_.count() + kLastOpens + planned_files_ / kWholeShare >=
      planned_files_;
  if (looked_again_ && !ended) return;
  looked_again_ = !ended;
  if (ended) ++begun_epochs_;
  const std::vector<EpochOpens::Open> first(last_.begin(), last_.end());
  opens_.Begin(first);
  readers_.Begin(first);
  BeginEpoch(first);
}

bool FollowedJob::Work() {
  if (plan_ != nullptr || !IsWorthATry(barren_)) return false;
  const bool worked = recogniser_.Work();
  if (recogniser_.state() == Recogniser::State::kClaimed) TakeClaim();
  return worked;
}

void FollowedJob::TakeClaim() {
  MakePlan();
  ++claims_;
  const OrderClaim& claim = *recogniser_.claim();
  if (!was_claimed_) ++epochs_claimed_;
  was_claimed_ = true;
  order_ = OrderInWords(claim);
  after_opens_ = claim.opens;
  const uint64_t expected = claim.lanes.expected();
  evidence_ =
      claim.order.kind == SamplerKind::kRepeated
          ? "each thread goes on as it did then"
          : absl::StrCat(expected, " of ", expected + claim.lanes.unexpected(),
                         " steps as expected");
  warning_.clear();
  if (claim.again && claim.order.kind != SamplerKind::kListed &&
      last_was_shuffled_) {
    warning_ = absl::StrCat(
        index_.path().empty() ? "" : absl::StrCat(index_.path(), ": "),
        "every epoch comes in the same order: does the job call "
        "sampler.set_epoch(epoch)?");
  }
  if (claim.order.kind != SamplerKind::kRepeated) {
    last_was_shuffled_ = claim.order.kind != SamplerKind::kListed;
  }
  if (claim.order.kind == SamplerKind::kRandom) {
    LearnSeed({epoch_, static_cast<uint32_t>(claim.order.seed)});
  } else if (claim.order.kind == SamplerKind::kDistributed ||
             claim.order.kind == SamplerKind::kStateful) {
    trail_ = {};  // no generator draws a seed per epoch
  }
}

void FollowedJob::MakePlan() {
  const OrderClaim& claim = *recogniser_.claim();
  std::vector<uint32_t> order = claim.Predicted();
  planned_ranks_ = claim.lanes.residues().size();
  planned_files_ = order.size();
  plan_ = std::make_unique<ReadPlan>(std::move(order), opens_.opened());
  for (const auto& [thread, index] : recogniser_.LastOpened()) {
    plan_->Came(thread, index);
  }
}

bool FollowedJob::AwaitsSearch(uint64_t epoch) const {
  if (epoch != epoch_) return !trail_.is_known();
  return plan_ == nullptr && !opens_.draws_again() &&
         recogniser_.may_be_shuffled();
}

std::optional<FollowedJob::Search> FollowedJob::WantsSearch() const {
  if (plan_ != nullptr || epoch_ < search_from_ || epoch_ == searched_epoch_ ||
      opens_.draws_again()) {
    return std::nullopt;
  }
  std::optional<SeedQuery> query = recogniser_.Query();
  if (!query) return std::nullopt;
  return Search{epoch_, *std::move(query)};
}

void FollowedJob::Searched(uint64_t epoch, std::optional<uint32_t> seed) {
  searched_epoch_ = epoch;
  if (seed && epoch == epoch_ && plan_ == nullptr &&
      recogniser_.Propose({SamplerKind::kRandom, *seed, 0})) {
    TakeClaim();
  }
  const bool of_use = epoch == epoch_ && plan_ != nullptr;
  if (seed) {
    barren_ = 0;  // something can be found
    LearnSeed({epoch, *seed});
  }
  useless_searches_ = of_use ? 0 : useless_searches_ + 1;
  if (useless_searches_ >= kSearches) {
    const uint64_t pause = std::min(
        kMostPause, uint64_t{1} << std::min<uint64_t>(useless_searches_, 6));
    search_from_ = epoch_ + pause;
  }
}

void FollowedJob::LearnSeed(const DrawnSeed& drawn) {
  const std::optional<DrawnSeed> before = trail_.Wanted();
  trail_.Learn(drawn);
  const std::optional<DrawnSeed> wanted = trail_.Wanted();
  if (wanted && wanted != before) next_streams_ = Streams::kEarly;
}

std::optional<DrawnSeed> FollowedJob::WantsEarlyGenerators() {
  if (next_streams_ != Streams::kEarly) return std::nullopt;
  next_streams_ = Streams::kLong;
  return trail_.Wanted();
}

std::optional<FollowedJob::GeneratorQuery> FollowedJob::WantsGenerator() {
  const std::optional<DrawnSeed> wanted = trail_.Wanted();
  // A place found early is usually right. The next epoch shows it.
  if (!wanted || next_streams_ != Streams::kLong || trail_.has_places()) {
    return std::nullopt;
  }
  next_streams_ = Streams::kNone;
  return GeneratorQuery{*wanted, !std::exchange(all_were_looked_at_, true)};
}

bool FollowedJob::AwaitsGenerator(const DrawnSeed& drawn) const {
  return trail_.Wanted() == drawn;
}

void FollowedJob::FoundGenerator(const DrawnSeed& drawn,
                                 const GeneratorPlace& place) {
  if (!AwaitsGenerator(drawn) || !trail_.Add(place)) return;
  barren_ = 0;  // its next outputs are worth a try
  if (plan_ != nullptr) return;
  if (recogniser_.Suggest(OrdersOf(trail_.SeedsOfLastPlace(epoch_)))) {
    TakeClaim();
  }
}

uint64_t FollowedJob::FilesToCome() const {
  const uint64_t all = index_.size();
  const uint64_t end =
      last_count_ == 0 || opens_.count() > last_count_ ? all : last_count_;
  return end - std::min(end, opens_.count());
}

FollowedJobStatus FollowedJob::status() const {
  FollowedJobStatus status;
  status.path = index_.path();
  status.files = index_.size();
  status.state = plan_ != nullptr ? "recognised"
                 : recogniser_.is_looking() && IsWorthATry(barren_) ? "watching"
                                                                    : "unknown";
  if (plan_ != nullptr) {
    status.order = order_;
    status.after_opens = after_opens_;
    status.evidence = evidence_;
  }
  status.epochs = epoch_ + 1;
  status.recognised_epochs = epochs_claimed_;
  status.warning = warning_;
  return status;
}

}  // namespace shufflefs
