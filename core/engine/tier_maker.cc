// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tier_maker.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/policy/mini_epoch_count.h"
#include "core/records/content/record_producer.h"
#include "core/staging/tier/tier_dir.h"

namespace shufflefs {
namespace {

// Copies under way take this part of the view's memory.
constexpr uint64_t kCopyMemoryPart = 8;
// The same for records. Prefetches for readers go through it too.
constexpr uint64_t kRecordCopyPart = 4;
constexpr uint64_t kLeastCopyMemory = Tier::kLeastMemory + Tier::kWiderBytes;
constexpr uint64_t kMostCopyMemory = uint64_t{64} << 20;
// A disk that seeks is asked for this much at a time, which takes some tens of
// milliseconds.
constexpr uint64_t kSeekingStep = uint64_t{1} << 20;

// Containers that are read at a time. Loaders usually interleave this many.
constexpr uint64_t kContainersAtOnce = 16;

// The view's name in the tier.
std::string TierNameOf(const ViewConfig& view) {
  return view.path.empty() ? "root"
                           : absl::StrReplaceAll(view.path, {{"/", "~"}});
}

// Returns the bytes of the files of these views below a tier's path, which was
// reached. We may use this space again. Files of other views stay for other
// mounts, so they do not count.
uint64_t OwnBytes(const std::string& path,
                  const std::vector<const ViewConfig*>& views) {
  using Entries = std::filesystem::directory_iterator;
  uint64_t bytes = 0;
  for (const ViewConfig* const view : views) {
    std::error_code ignored;
    const std::filesystem::path own = std::filesystem::path(path) /
                                      kTierDirectory /
                                      TierDir::NameOf(TierNameOf(*view));
    for (Entries it(own, ignored), end; it != end; it.increment(ignored)) {
      if (ignored) break;
      if (!it->is_regular_file(ignored)) continue;
      const uintmax_t size = it->file_size(ignored);
      if (!ignored) bytes += size;
    }
  }
  return bytes;
}

void TellNotes(const StagingFacet& staging, bool of_records) {
  for (const StagingFacet::Note& note : staging.Notes(of_records)) {
    Log(note.warns ? LogLevel::kWarning : LogLevel::kInfo, note.text);
  }
}

struct CopyNeeds {
  uint64_t least = 0;  // bytes that the view keeps
  uint64_t part = 1;   // 1 / part of its memory is for copies
};

// Takes the memory of copies, and of widened reads of them, from a view's
// memory. Errors: InvalidArgument.
absl::StatusOr<uint64_t> TakeCopyMemory(const MountConfig& mount,
                                        const Policy& policy,
                                        const CopyNeeds& needs,
                                        uint64_t& memory) {
  if (mount.tier_path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy = ", policy.name(),
                     " needs tier.path, a directory on a faster device"));
  }
  const uint64_t copies =
      std::clamp(memory / needs.part, kLeastCopyMemory, kMostCopyMemory);
  if (memory < copies + needs.least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "memory: policy = ", policy.name(), " needs at least ",
        HumanBytes(MemoryFor(copies + needs.least, mount.views.size()))));
  }
  memory -= copies;
  return copies;
}

std::vector<bool> Staged(const Tier& tier, const Grouping& grouping) {
  std::vector<bool> staged(grouping.sample_count());
  bool any = false;
  for (uint64_t s = 0; s < staged.size(); ++s) {
    const SampleId sample(s);
    bool all = true;
    for (uint32_t c = 0; c < grouping.columns(sample) && all; ++c) {
      all = tier.Has(grouping.member(sample, c));
    }
    staged[s] = all;
    any |= all;
  }
  return any ? staged : std::vector<bool>();
}

}  // namespace

absl::StatusOr<uint64_t> TierMaker::Capacity(const ViewConfig& config) {
  {
    MutexLock lock(mu_);
    const auto found = tiers_.find(config.path);
    if (found != tiers_.end() && found->second.tier != nullptr) {
      return found->second.tier->status().capacity;
    }
  }
  return CapacityOfNew(config);
}

absl::StatusOr<uint64_t> TierMaker::CapacityOfNew(
    const ViewConfig& config) const {
  const uint64_t parts = Share().PartsFor(config);
  if (parts == 0) {
    return absl::InvalidArgumentError(
        "tier.capacity: views that have a tier by the command line use all of "
        "it; give this view its policy there, too");
  }
  uint64_t capacity = parts_.config->tier_capacity;
  const std::string& path = parts_.config->tier_path;
  if (capacity == 0) {
    const std::string reached = Reached(parts_.reach, path);
    struct statvfs st;
    if (statvfs(reached.c_str(), &st) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tier.path: ", ErrnoStatus(errno, path).message(),
          "; name a directory that exists, or make it: mkdir -p ", path));
    }
    const uint64_t free = uint64_t{st.f_bavail} * st.f_frsize;
    capacity = (free + OwnBytes(reached, Share().Views())) / 10 * 9;
  }
  return capacity / parts;
}

TierMaker::TierShare TierMaker::Share() const {
  return {parts_.config, parts_.given, parts_.policies};
}

std::vector<const ViewConfig*> TierMaker::TierShare::Views() const {
  std::vector<const ViewConfig*> copying;
  for (const ViewConfig& each : given != nullptr ? *given : mount->views) {
    const PolicyEntry* const entry = FindPolicy(policies, each.policy);
    if (entry != nullptr && entry->shares_tier) copying.push_back(&each);
  }
  if (!copying.empty()) return copying;
  std::vector<const ViewConfig*> all;
  for (const ViewConfig& each : mount->views) all.push_back(&each);
  return all;
}

uint64_t TierMaker::TierShare::PartsFor(const ViewConfig& view) const {
  const std::vector<const ViewConfig*> views = Views();
  const bool is_one = std::any_of(
      views.begin(), views.end(),
      [&](const ViewConfig* each) { return each->path == view.path; });
  return is_one ? views.size() : 0;
}

uint64_t TierMaker::CapacityOf(const TierShare& share, const ViewConfig& view) {
  const uint64_t parts = share.PartsFor(view);
  return parts == 0 ? 0 : share.mount->tier_capacity / parts;
}

absl::StatusOr<std::shared_ptr<Tier>> TierMaker::TierOf(const Wants& wants,
                                                        Room room) {
  MutexLock lock(mu_);
  ViewTier& view = tiers_[wants.config->path];
  // Two tiers must not use one directory.
  while (view.closing) closed_.Wait(mu_);
  if (view.tier == nullptr) RETURN_IF_ERROR(OpenTier(wants, room, view));
  return UserOf(wants.config->path, view);
}

absl::Status TierMaker::OpenTier(const Wants& wants, Room room,
                                 ViewTier& view) {
  const ViewConfig& config = *wants.config;
  const SourceReader& source = wants.source;
  Tier::Options options;
  options.path = parts_.config->tier_path;
  options.reach = parts_.reach;
  options.view = TierNameOf(config);
  options.capacity = room.capacity;
  options.bandwidth = parts_.config->tier_bandwidth;
  options.memory_bytes = room.memory_bytes - Tier::kWiderBytes;
  if (source.seeks) options.step_ahead = kSeekingStep;
  options.foreground_reads = parts_.foreground_reads;
  options.many_pieces = source.many_pieces;
  ASSIGN_OR_RETURN(std::unique_ptr<PoolShare> reserved,
                   parts_.pool->Open({.name = config.path,
                                      .guarantee = room.memory_bytes,
                                      .floor = room.memory_bytes,
                                      .most = room.memory_bytes}));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Tier> tier,
      Tier::Open(std::move(options), wants.dataset->shared_catalogue(),
                 source.reader));
  if (closer_ == nullptr) closer_ = std::make_shared<Worker>("sfs-tier-end", 1);
  // Together: a tier that is refused takes no memory.
  view.reserved = std::move(reserved);
  view.tier = std::move(tier);
  return absl::OkStatus();
}

// The last user may leave on any thread, also on the tier's own. So another
// thread closes it.
std::shared_ptr<Tier> TierMaker::UserOf(const std::string& path,
                                        ViewTier& view) {
  if (std::shared_ptr<Tier> user = view.users.lock()) return user;
  std::shared_ptr<Tier> user(view.tier.get(),
                             [this, path, closer = closer_](Tier*) {
                               closer->Post(
                                   [this, path](const absl::Status& turn) {
                                     if (turn.ok()) CloseIdle(path);
                                   },
                                   /*urgent=*/false);
                             });
  view.users = user;
  return user;
}

void TierMaker::CloseIdle(const std::string& path) {
  std::unique_ptr<Tier> tier;
  {
    MutexLock lock(mu_);
    ViewTier& view = tiers_[path];
    // Somebody may have taken it over, or closed it.
    if (view.tier == nullptr || !view.users.expired()) return;
    view.closing = true;
    tier = std::move(view.tier);
  }
  tier.reset();  // without the lock, because others need not wait for it
  MutexLock lock(mu_);
  ViewTier& view = tiers_[path];
  view.reserved.reset();
  view.closing = false;
  closed_.SignalAll();
}

absl::Status TierMaker::Fill(const Wants& wants, SampleProducer::Parts& parts,
                             BinderInput& input) {
  const ViewConfig& config = *wants.config;
  const Dataset& dataset = *wants.dataset;
  const StagingFacet& staging = *wants.policy->staging();
  ASSIGN_OR_RETURN(const uint64_t copies,
                   TakeCopyMemory(*parts_.config, *wants.policy,
                                  {.least = SampleProducer::kLeastMemory,
                                   .part = kCopyMemoryPart},
                                  parts.memory.guarantee));
  input.memory_bytes = parts.memory.guarantee;
  ASSIGN_OR_RETURN(input.tier_bytes, Capacity(config));
  // First, so that what is refused opens no tier.
  ASSIGN_OR_RETURN(const uint64_t count, staging.SetsFor(input));
  ASSIGN_OR_RETURN(const std::shared_ptr<Tier> tier,
                   TierOf(wants, {input.tier_bytes, copies}));
  TellNotes(staging, /*of_records=*/false);
  input.staged = Staged(*tier, dataset.grouping());
  input.saved_factors = SavedFactorsOf(wants);
  parts.source = tier->Source();
  parts.sets.tier = [tier] { return tier->status(); };
  parts.sets.requests_changed = [tier] { tier->Changed(); };
  parts.how = absl::StrCat("mini-epochs in ", parts_.config->tier_path, ", ",
                           count, " a pass");
  return absl::OkStatus();
}

SavedFactors::Key TierMaker::FactorsKey(const Wants& wants) const {
  return {wants.dataset->catalogue().fingerprint(), wants.config->path,
          wants.policy->staging()->learns_as()};
}

std::vector<uint32_t> TierMaker::SavedFactorsOf(const Wants& wants) const {
  return parts_.saved_factors == nullptr
             ? std::vector<uint32_t>()
             : parts_.saved_factors->Load(FactorsKey(wants));
}

absl::StatusOr<std::shared_ptr<Tier>> TierMaker::OfRecords(
    const Wants& wants, uint64_t& memory_bytes) {
  ASSIGN_OR_RETURN(const uint64_t copies,
                   TakeCopyMemory(*parts_.config, *wants.policy,
                                  {.least = RecordProducer::kLeastMemory,
                                   .part = kRecordCopyPart},
                                  memory_bytes));
  TellNotes(*wants.policy->staging(), /*of_records=*/true);
  ASSIGN_OR_RETURN(const uint64_t capacity, Capacity(*wants.config));
  return TierOf(wants, {capacity, copies});
}

uint64_t TierMaker::BytesOfRecords(uint64_t capacity) {
  return capacity / (2 * kContainersAtOnce);
}

bool TierMaker::HoldsAll(uint64_t capacity, uint64_t bytes) {
  return capacity > 0 && MiniEpochsInTier(2, bytes, capacity) == 1;
}

void TierMaker::Follow(const Wants& wants,
                       const std::shared_ptr<SampleProducer>& producer) {
  MutexLock lock(mu_);
  ViewTier& view = tiers_[wants.config->path];
  std::erase_if(view.learners,
                [](const Learner& each) { return each.producer.expired(); });
  view.learners.push_back(
      {producer, FactorsKey(wants), producer->sets().learnt()});
  // It expires with the producer.
  view.tier->Follow(std::shared_ptr<StagingPlan>(producer, &producer->sets()));
}

void TierMaker::SaveFactors() {
  if (parts_.saved_factors == nullptr) return;
  MutexLock lock(mu_);
  for (auto& [path, view] : tiers_) {
    for (Learner& learner : view.learners) Keep(learner);
  }
}

void TierMaker::Keep(Learner& learner) {
  const std::shared_ptr<SampleProducer> producer = learner.producer.lock();
  if (producer == nullptr) return;
  std::vector<uint32_t> learnt = producer->sets().learnt();
  if (learnt == learner.saved) return;
  learner.saved = learnt;
  const absl::Status stored =
      parts_.saved_factors->Store(learner.key, std::move(learnt));
  if (!stored.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat("what was learnt is not kept: ", stored.message()));
  }
}

void TierMaker::Stop() {
  std::shared_ptr<Worker> closer;
  {
    MutexLock lock(mu_);
    closer = closer_;
  }
  // It needs the lock. From now on tiers that nobody uses stay open.
  if (closer != nullptr) closer->Stop();
  MutexLock lock(mu_);
  for (auto& [path, view] : tiers_) {
    if (view.tier != nullptr) view.tier->Stop();
  }
}

}  // namespace shufflefs
