// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/recogniser.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <utility>

namespace shufflefs {
namespace {

// A candidate is tested in full if two opens of some thread fit. The first is
// within `firsts` places (one per rank), and the second within `seconds`.
struct Reach {
  uint32_t firsts;
  uint32_t seconds;
};
constexpr uint32_t kMostSeconds = 8192;

// The reach of each attempt. Each attempt has more opens as evidence. Large
// worlds are rare, and testing them takes ten times as long.
constexpr Reach kAttempts[] = {{64, 1024}, {64, 1024}, {1024, kMostSeconds}};
constexpr uint32_t kLeastReach = 64;
// With a StatefulDataLoader, every rank has its own order.
constexpr size_t kStatefulAttempts = 2;
// A later output of a generator needs all earlier ones. An attempt computes at
// most kStatefulOutputs, in half a second, and one step kOutputsAtOnce.
constexpr uint64_t kStatefulOutputs = uint64_t{1} << 29;
constexpr uint64_t kOutputsAtOnce = uint64_t{1} << 22;
constexpr uint64_t kEpochsBack = 4;
constexpr uint64_t kAttemptGrowth = 4;  // in steps, per attempt
constexpr size_t kKeptOpens = 64;       // opens kept per thread
constexpr size_t kCandidatesAtOnce = 512;
constexpr uint32_t kFilterBits = 1 << 16;
constexpr int kDropBelow = 16;  // expected opens of the last 64
constexpr uint32_t kNewThreads = 256;
constexpr size_t kMostThreads = 4096;
constexpr uint64_t kWaitForSlow = 8;        // times the need of a search
constexpr uint64_t kWorthRemembering = 64;  // steps
constexpr uint32_t kNear = 16;              // 1 / kNear of n indices
constexpr uint64_t kStepsToSee = 32;

size_t FirstDrawn(const std::vector<CandidateOrder>& usual) {
  const auto first = std::find_if(
      usual.begin(), usual.end(), [](const CandidateOrder& order) {
        return order.kind == SamplerKind::kOwnGenerator ||
               order.kind == SamplerKind::kRandom;
      });
  return static_cast<size_t>(first - usual.begin());
}

std::vector<uint32_t> InverseOf(const std::vector<uint32_t>& permutation) {
  std::vector<uint32_t> places(permutation.size());
  for (uint32_t i = 0; i < permutation.size(); ++i) places[permutation[i]] = i;
  return places;
}

}  // namespace

std::vector<uint32_t> OrderClaim::Predicted() const {
  if (order.kind == SamplerKind::kRepeated) return permutation;
  std::vector<uint32_t> out;
  const uint64_t n = permutation.size();
  const uint64_t stride = std::max(1U, lanes.stride());
  for (uint64_t round = 0; round < n; round += stride) {
    for (const uint32_t residue : lanes.residues()) {
      const uint64_t place = round + residue;
      // The head fills up the last round of ranks.
      if (place < n || n % stride != 0) out.push_back(permutation[place % n]);
    }
  }
  return out;
}

Recogniser::Recogniser(Options options)
    : options_(std::move(options)),
      usual_(options_.candidates != nullptr
                 ? options_.candidates
                 : std::make_shared<const std::vector<CandidateOrder>>(
                       UsualCandidates({}))),
      first_drawn_(FirstDrawn(*usual_)),
      stateful_(std::min<size_t>(
          usual_->size() - first_drawn_,
          kStatefulOutputs / std::max<uint32_t>(1, options_.n))),
      opened_bits_(kFilterBits / 64),
      head_(kMostSeconds) {
  BeginEpoch();
}

void Recogniser::BeginEpoch(const std::vector<CandidateOrder>& likely) {
  likely_ = likely;
  last_order_.reset();
  if (claim_ != nullptr && claim_->order.kind != SamplerKind::kRepeated) {
    last_order_ = claim_->order;
    claimed_ = claim_->order;
    epochs_since_ = 0;
  }
  // A known order needs no guess. It is tested first in every epoch.
  if (claimed_ && claimed_->kind != SamplerKind::kListed) {
    epochs_since_ = std::min(epochs_since_ + 1, kEpochsBack);
    const auto next = NextCandidates(*claimed_, options_.n, epochs_since_);
    likely_.insert(likely_.end(), next.begin(), next.end());
  }
  // A short look at the data does not replace the memory of the last epoch.
  if (steps_ >= std::min<uint64_t>(kWorthRemembering, options_.n / 2)) {
    std::swap(last_memory_, memory_);
  }
  memory_ = {};
  if (options_.n <= options_.most_remembered) {
    memory_.followers.assign(options_.n, options_.n);
  }
  state_ = State::kUndecided;
  streams_.clear();
  opens_ = 0;
  steps_ = 0;
  near_ = 0;
  attempts_ = 0;
  at_work_ = false;
  claim_.reset();
  tracking_ = {};
}

OpenStep Recogniser::Opened(uint32_t index, uint64_t thread) {
  // With one thread per file, no steps show an order.
  if (streams_.size() == kMostThreads && !streams_.contains(thread)) {
    ++opens_;
    return OpenStep::kUnjudged;
  }
  const auto [at, is_new] = streams_.try_emplace(thread);
  Stream& stream = at->second;
  if (!is_new && stream.last == index) {  // opened twice
    return OpenStep::kUnjudged;
  }
  ++opens_;
  if (!is_new) {
    ++steps_;
    const uint32_t least = std::min(index, stream.last);
    if (std::max(index, stream.last) - least <= options_.n / kNear) ++near_;
  }
  if (!memory_.followers.empty()) {
    if (!is_new) memory_.followers[stream.last] = index;
    if (memory_.opened.size() < options_.n) memory_.opened.push_back(index);
  }
  const OpenStep step = state_ == State::kClaimed
                            ? Track(stream, !is_new, index)
                            : OpenStep::kUnjudged;
  if (stream.indices.size() < kKeptOpens) stream.indices.push_back(index);
  stream.last = index;
  return step;
}

void Recogniser::OpenedEarly(uint32_t index, uint64_t thread) {
  Opened(index, thread);
  const auto at = streams_.find(thread);
  if (at != streams_.end()) at->second.early = at->second.indices.size();
}

std::vector<std::pair<uint64_t, uint32_t>> Recogniser::LastOpened() const {
  std::vector<std::pair<uint64_t, uint32_t>> last;
  for (const auto& [thread, stream] : streams_) {
    last.push_back({thread, stream.last});
  }
  return last;
}

OpenStep Recogniser::Track(Stream& stream, bool known, uint32_t index) {
  if (!known && ++tracking_.new_threads <= kNewThreads) {
    return OpenStep::kUnjudged;
  }
  bool expected = false;
  if (known && claim_->order.kind == SamplerKind::kRepeated) {
    expected = last_memory_.followers[stream.last] == index;
  } else if (known) {
    const uint32_t place = tracking_.places[index];
    expected = claim_->lanes.Expects(tracking_.places[stream.last], place);
    if (expected) claim_->lanes.Learn(place);
  }
  tracking_.recent = tracking_.recent << 1 | (expected ? 1 : 0);
  if (std::popcount(tracking_.recent) >= kDropBelow) {
    return expected ? OpenStep::kExpected : OpenStep::kUnexpected;
  }
  state_ = State::kUnknown;
  claim_.reset();
  tracking_ = {};
  return OpenStep::kUnexpected;
}

std::vector<std::vector<uint32_t>> Recogniser::Streams() const {
  std::vector<std::vector<uint32_t>> streams;
  for (const auto& [thread, stream] : streams_) {
    streams.push_back(stream.indices);
  }
  return streams;
}

// The first attempt starts when the steps could prove a usual order. Later ones
// start when there is much more evidence.
bool Recogniser::Work() {
  if (state_ != State::kUndecided) return false;
  if (!at_work_) {
    uint64_t worth = StepsToProve(options_.n, usual_->size());
    for (size_t i = 0; i < attempts_; ++i) worth *= kAttemptGrowth;
    if (attempts_ == std::size(kAttempts) || steps_ < worth) return false;
    BeginAttempt();
  }
  const size_t count = CandidateCount();
  const size_t end = std::min(count, next_ + kCandidatesAtOnce);
  uint64_t outputs = 0;
  for (; next_ < end && outputs < kOutputsAtOnce; ++next_) {
    if (TryAt(next_)) return true;
    outputs += CandidateAt(next_).outputs_before;
  }
  at_work_ = next_ < count;
  return true;
}

size_t Recogniser::CandidateCount() const {
  return likely_.size() + usual_->size() +
         (attempts_ <= kStatefulAttempts ? stateful_ : 0);
}

CandidateOrder Recogniser::CandidateAt(size_t candidate) const {
  if (candidate < likely_.size()) return likely_[candidate];
  candidate -= likely_.size();
  if (candidate < usual_->size()) return (*usual_)[candidate];
  candidate -= usual_->size();
  return FirstStateful((*usual_)[first_drawn_ + candidate], options_.n);
}

// Known orders come before guesses.
bool Recogniser::TryAt(size_t candidate) {
  if (candidate == 0 && TryKnown()) return true;
  if (candidate == likely_.size() && TryRepeated()) return true;
  const CandidateOrder order = CandidateAt(candidate);
  return MayFit(order) && Try(order, CandidateCount());
}

void Recogniser::BeginAttempt() {
  ++attempts_;
  next_ = 0;
  at_work_ = true;
  evidence_ = Streams();
  openings_.clear();
  std::fill(opened_bits_.begin(), opened_bits_.end(), 0);
  for (uint32_t s = 0; s < evidence_.size(); ++s) {
    for (uint32_t i = 0; i < evidence_[s].size() && i < 2; ++i) {
      const uint32_t index = evidence_[s][i];
      openings_.try_emplace(index, Opening{s, i});
      opened_bits_[index % kFilterBits / 64] |= uint64_t{1} << index % 64;
    }
  }
}

bool Recogniser::TryKnown() {
  const auto& known = options_.known_orders;
  std::vector<uint32_t> sequential(options_.n);
  std::iota(sequential.begin(), sequential.end(), 0);
  if (TryOrder({SamplerKind::kListed, 0, 0}, std::move(sequential),
               known.size() + 1)) {
    return true;
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (TryOrder({SamplerKind::kListed, i + 1, 0}, known[i],
                 known.size() + 1)) {
      return true;
    }
  }
  return false;
}

// Returns whether the first two opens of some thread are where those of a rank
// may be. Only then is the whole permutation computed.
bool Recogniser::MayFit(const CandidateOrder& order) {
  const uint32_t n = options_.n;
  constexpr uint32_t kNowhere = ~0U;
  // With a larger world or more workers, a thread makes too few steps to show
  // an order.
  const uint32_t reach = std::max(kLeastReach, n / 4);
  const uint32_t firsts = std::min(reach, kAttempts[attempts_ - 1].firsts);
  const uint32_t seconds =
      std::min({n, reach, kAttempts[attempts_ - 1].seconds});
  first_places_.assign(evidence_.size(), kNowhere);
  head_.Restart(n, order.seed, order.outputs_before);
  bool any = false;
  for (uint32_t place = 0; place < seconds; ++place) {
    if (place == firsts && !any) return false;
    const uint32_t index = head_.Next();
    const uint64_t bits = opened_bits_[index % kFilterBits / 64];
    if ((bits >> index % 64 & 1) == 0) continue;
    const auto found = openings_.find(index);
    if (found == openings_.end()) continue;
    const auto [stream, nth] = found->second;
    if (nth == 1 && first_places_[stream] != kNowhere) return true;
    if (nth == 0 && place < firsts) {
      first_places_[stream] = place;
      any = true;
    }
  }
  return false;
}

bool Recogniser::Propose(const CandidateOrder& order) {
  return state_ == State::kUndecided && Try(order, SeedSearch::kSeeds);
}

bool Recogniser::Suggest(const std::vector<CandidateOrder>& orders) {
  if (state_ != State::kUndecided) return false;
  if (attempts_ == 0) {  // too few opens yet
    likely_.insert(likely_.end(), orders.begin(), orders.end());
    return false;
  }
  return std::any_of(orders.begin(), orders.end(),
                     [&](const CandidateOrder& order) {
                       return MayFit(order) && Try(order, SeedSearch::kSeeds);
                     });
}

bool Recogniser::Try(const CandidateOrder& order, uint64_t candidates) {
  return TryOrder(order, order.Permutation(options_.n), candidates);
}

bool Recogniser::TryOrder(const CandidateOrder& order,
                          std::vector<uint32_t> permutation,
                          uint64_t candidates) {
  std::vector<uint32_t> places = InverseOf(permutation);
  std::vector<std::vector<uint32_t>> streams = Streams();
  for (auto& stream : streams) {
    for (uint32_t& index : stream) index = places[index];
  }
  WorkerInterleave lanes(streams);
  if (lanes.expected() < StepsToProve(options_.n, candidates) ||
      lanes.unexpected() * 4 > lanes.expected()) {
    return false;
  }
  Claim({order, last_order_ == order, std::move(lanes), std::move(permutation),
         opens_},
        std::move(places));
  return true;
}

// If each thread opens its files in the same succession as in the last epoch,
// the order is that epoch's, whatever it was.
bool Recogniser::TryRepeated() {
  if (last_memory_.followers.empty()) return false;
  uint64_t expected = 0;
  uint64_t unexpected = 0;
  for (const auto& [thread, stream] : streams_) {
    const std::vector<uint32_t>& indices = stream.indices;
    for (size_t i = std::max<size_t>(1, stream.early); i < indices.size();
         ++i) {
      const bool same = last_memory_.followers[indices[i - 1]] == indices[i];
      ++(same ? expected : unexpected);
    }
  }
  if (expected < StepsToProve(options_.n, 1) || unexpected * 4 > expected) {
    return false;
  }
  Claim({{SamplerKind::kRepeated, 0, 0},
         true,
         WorkerInterleave({}),
         last_memory_.opened,
         opens_},
        {});
  return true;
}

void Recogniser::Claim(OrderClaim claim, std::vector<uint32_t> places) {
  claim_ = std::make_unique<OrderClaim>(std::move(claim));
  tracking_ = {.places = std::move(places), .recent = ~uint64_t{0}};
  state_ = State::kClaimed;
  at_work_ = false;
}

// An eighth of a shuffle's steps are that short.
bool Recogniser::may_be_shuffled() const {
  return steps_ < kStepsToSee || near_ * 2 <= steps_;
}

std::optional<SeedQuery> Recogniser::Query() const {
  if (state_ != State::kUndecided || attempts_ == 0 || at_work_ ||
      steps_ < kStepsToSee || !may_be_shuffled() ||
      steps_ < StepsToProve(options_.n, SeedSearch::kSeeds)) {
    return std::nullopt;
  }
  SeedQuery query = {.n = options_.n, .streams = Streams()};
  auto& streams = query.streams;
  const uint32_t needed = SeedSearch::OpensNeeded(options_.n, streams.size());
  if (opens_ >= kWaitForSlow * needed * streams.size()) {
    // A thread that is so far behind the others is no worker.
    streams.erase(
        std::remove_if(streams.begin(), streams.end(),
                       [&](const auto& s) { return s.size() < needed; }),
        streams.end());
  }
  if (needed == 0 || streams.empty() ||
      streams.size() > SeedFilter::kMaxRemainders) {
    return std::nullopt;
  }
  for (const auto& stream : streams) {
    if (stream.size() < needed) return std::nullopt;
  }
  return query;
}

}  // namespace shufflefs
