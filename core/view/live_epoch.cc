// SPDX-License-Identifier: Apache-2.0
#include "core/view/live_epoch.h"

#include <xxhash.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/pool/read_ahead.h"
#include "core/sampler/sampler_prefetcher.h"
#include "core/view/fixed_epochs.h"

namespace shufflefs {
namespace {

// Tells read-ahead the orders of the epoch.
void Follow(const ViewSetup& setup,
            const std::shared_ptr<const Binding>& binding) {
  ReadAhead::Sequences orders;
  if (setup.config.layout == Layout::kRanked) {
    orders.push_back(RankSequence(binding));
  } else {
    orders.push_back(NameSequence(binding));
    orders.push_back(ListingSequence(binding));
  }
  setup.ahead->FollowLive(std::move(orders));
}

void Append(std::string& text, uint64_t number) {
  absl::StrAppend(&text, number, " ");
}

uint64_t HashOf(const std::string& text) {
  return XXH3_64bits(text.data(), text.size());
}

void AppendPairs(std::string& text, std::vector<NameBinding> pairs) {
  absl::c_sort(pairs, [](const NameBinding& a, const NameBinding& b) {
    return a.name < b.name;
  });
  for (const NameBinding& pair : pairs) {
    Append(text, pair.name);
    Append(text, pair.sample);
  }
}

std::string KeysOf(const ViewSetup& setup) {
  std::string text = absl::StrCat(setup.policy->name(), " ");
  Append(text, setup.config.seed.value());
  Append(text, setup.options_hash);
  if (setup.shared != nullptr) Append(text, setup.shared->chunks_hash());
  return text;
}

}  // namespace

LiveEpoch MakeLiveEpoch(std::shared_ptr<const ViewSetup> setup,
                        EpochBinding how) {
  LiveEpoch live;
  const ViewSetup& by = *setup;
  live.setup = std::move(setup);
  live.records = MakeRecordEpoch(by, how.epoch, /*live=*/true,
                                 std::move(how.notes), how.read_before);
  auto plan = std::make_shared<const Plan>(by.dataset, by.policy,
                                           by.config.seed, how.epoch);
  if (by.binds_on_demand() && !how.identity) {
    std::shared_ptr<BoundNames> names = by.samples;
    if (by.shared != nullptr) {
      by.shared->BeginEpoch(by.config.seed, how.epoch, how.sharing, how.bound);
      names = by.shared;
    } else {
      by.samples->BeginEpoch(by.config.seed, how.epoch, how.bound);
    }
    live.binding = std::make_shared<const Binding>(
        std::move(plan), std::move(how.retained), std::move(names));
    return live;
  }
  live.binding = std::make_shared<const Binding>(
      std::move(plan), std::move(how.retained), how.identity);
  if (by.ahead != nullptr) Follow(by, live.binding);
  if (by.stages_ranks() && by.samples != nullptr) {
    by.samples->BeginEpoch(by.config.seed, how.epoch, {});
  }
  return live;
}

ContentProvider* LiveEpoch::ProviderOf(EntryId file, bool live) const {
  const bool supplied = (live && binding->bound_names() != nullptr) ||
                        (live && setup->policy->keeps_first()) ||
                        setup->stages_ranks();
  // By its own bytes a container is read from the source.
  if (!supplied && setup->ShowsRecordsOf(file)) return nullptr;
  if (live && setup->prefetcher != nullptr) return setup->prefetcher.get();
  ContentProvider* provider = setup->ahead.get();
  if (supplied) provider = setup->samples.get();
  if (provider == nullptr || !setup->dataset->grouping().place(file)) {
    return nullptr;
  }
  return provider;
}

bool LiveEpoch::WatchesOpensOf(EntryId file) const {
  return lookups->wanted() && setup->dataset->grouping().place(file);
}

std::vector<NameBinding> ShownPairsOf(const Binding& binding,
                                      std::vector<uint64_t> names) {
  absl::c_sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<NameBinding> pairs;
  pairs.reserve(names.size());
  for (const uint64_t name : names) {
    pairs.push_back({name, binding.ShownSample(SampleId(name)).value()});
  }
  return pairs;
}

std::vector<NameBinding> FirstOfNames(std::vector<NameBinding> pairs,
                                      const std::vector<NameBinding>& told,
                                      const std::vector<NameBinding>& known) {
  pairs.insert(pairs.end(), told.begin(), told.end());
  pairs.insert(pairs.end(), known.begin(), known.end());
  absl::flat_hash_set<uint64_t> names;
  std::erase_if(pairs, [&](const NameBinding& pair) {
    return !names.insert(pair.name).second;
  });
  return RetainedBindings::FirstOfEach(std::move(pairs));
}

std::vector<NameBinding> BoundPairs(const BoundNames& bound_names,
                                    uint64_t names, uint64_t most) {
  std::vector<NameBinding> pairs;
  for (uint64_t name = 0; name < names && pairs.size() < most; ++name) {
    const absl::optional<SampleId> sample = bound_names.Bound(SampleId(name));
    if (sample) pairs.push_back({name, sample->value()});
  }
  return pairs;
}

RetainedBindings Retain(std::vector<NameBinding>& pairs, bool repeats) {
  // Another policy may have shown a sample twice.
  if (!repeats) pairs = RetainedBindings::FirstOfEach(std::move(pairs));
  auto retained = repeats ? RetainedBindings::MakeRepeating(pairs)
                          : RetainedBindings::Make(pairs);
  if (retained.ok()) return *std::move(retained);
  // The pairs cannot be retained. This never happens: each name occurs once.
  Log(LogLevel::kError, absl::StrCat("epoch: ", retained.status().message()));
  pairs.clear();
  return RetainedBindings();
}

uint64_t HashOfKeys(const ViewSetup& setup) { return HashOf(KeysOf(setup)); }

uint64_t HashOfNames(const ViewSetup& setup, const Binding& binding) {
  std::string text = KeysOf(setup);
  Append(text, binding.epoch().value());
  Append(text, binding.identity() ? 1 : 0);
  AppendPairs(text, binding.retained().pairs());
  return HashOf(text);
}

uint64_t HashOfSharing(const ViewSetup& setup, Epoch epoch,
                       const NameSharing& sharing) {
  std::string text = KeysOf(setup);
  Append(text, epoch.value());
  // Nobody binds names for others, whatever this node knows.
  if (sharing.members.empty()) return HashOf(text);
  for (const std::string& member : sharing.members) {
    absl::StrAppend(&text, member, " ");
  }
  AppendPairs(text, sharing.known);
  return HashOf(text);
}

std::shared_ptr<const LiveEpoch> LiveEpochs::Enter(std::atomic<bool>& asked) {
  for (;;) {
    std::shared_ptr<const LiveEpoch> live = published_.Get();
    if (!asked) asked = true;
    if (!live->lookups->closed()) return live;
    if (waits_) waits_();
    live->lookups->WaitIfClosed();
  }
}

void LiveEpochs::NoteRead() {
  if (!read_.load(std::memory_order_relaxed)) read_ = true;
  if (!ever_read_.load(std::memory_order_relaxed)) ever_read_ = true;
}

void LiveEpochs::Close() {
  const std::shared_ptr<const LiveEpoch> live = published_.Get();
  if (live != nullptr) live->lookups->Close();
}

bool LiveEpochs::CloseUnread(bool sees_opens) {
  Close();
  if (!read_ && (sees_opens || !ever_read_ || !looked_)) return true;
  Reopen();
  return false;
}

void LiveEpochs::Publish(LiveEpoch live) {
  const std::shared_ptr<const LiveEpoch> before = published_.Get();
  TellPrefetcher(*live.setup);  // before its first open
  published_.Set(std::make_shared<const LiveEpoch>(std::move(live)));
  if (before != nullptr) before->lookups->End();
}

void LiveEpochs::HearNoOpens() {
  hears_opens_ = false;
  TellPrefetcher(*Get()->setup);
}

void LiveEpochs::TellPrefetcher(const ViewSetup& setup) const {
  if (setup.prefetcher == nullptr) return;
  setup.prefetcher->ExpectOpens(hears_opens_);
}

}  // namespace shufflefs
