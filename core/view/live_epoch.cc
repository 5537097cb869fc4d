// SPDX-License-Identifier: Apache-2.0
#include "core/view/live_epoch.h"

#include <utility>

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

}  // namespace

LiveEpoch MakeLiveEpoch(std::shared_ptr<const ViewSetup> setup,
                        EpochBinding how) {
  LiveEpoch live;
  const ViewSetup& by = *setup;
  live.setup = std::move(setup);
  live.records = MakeRecordEpoch(by, how.epoch, /*live=*/true);
  auto plan = std::make_shared<const Plan>(by.dataset, by.policy,
                                           by.config.seed, how.epoch);
  if (by.binds_on_demand() && !how.identity) {
    by.supply->BeginEpoch(by.config.seed, how.epoch, how.bound);
    live.binding = std::make_shared<const Binding>(
        std::move(plan), std::move(how.carried), by.supply);
    return live;
  }
  live.binding = std::make_shared<const Binding>(
      std::move(plan), std::move(how.carried), how.identity);
  if (by.ahead != nullptr) Follow(by, live.binding);
  if (by.stages_ranks() && by.supply != nullptr) {
    by.supply->BeginEpoch(by.config.seed, how.epoch, {});
  }
  return live;
}

ContentProvider* LiveEpoch::ProviderOf(EntryId file, bool live) const {
  if (live && setup->prefetcher != nullptr) return setup->prefetcher.get();
  const bool supplied = (live && binding->bound_names() != nullptr) ||
                        (live && setup->policy->keeps_first()) ||
                        setup->stages_ranks();
  ContentProvider* provider = setup->ahead.get();
  if (supplied) provider = setup->supply.get();
  if (provider == nullptr || !setup->dataset->grouping().place(file)) {
    return nullptr;
  }
  return provider;
}

bool LiveEpoch::WatchesOpensOf(EntryId file) const {
  return lookups->wanted() && setup->dataset->grouping().place(file);
}

std::shared_ptr<const LiveEpoch> LiveEpochs::Enter(std::atomic<bool>& asked) {
  for (;;) {
    std::shared_ptr<const LiveEpoch> live = published_.Get();
    if (!asked) asked = true;
    if (!live->lookups->WaitIfClosed()) return live;
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
  published_.Set(std::make_shared<const LiveEpoch>(std::move(live)));
  if (before != nullptr) before->lookups->End();
}

}  // namespace shufflefs
