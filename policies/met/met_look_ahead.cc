// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_look_ahead.h"

#include <algorithm>
#include <numeric>

namespace shufflefs {
namespace {

// Of the memory, what is drawn ahead; and a sample larger than that is read in
// pieces.
constexpr uint64_t kPartOfMemory = 4;
// More would not make any device faster.
constexpr uint64_t kMostBytes = 128 << 20;
// Groups that are due before anything is drawn. Each call of NextFetch becomes
// one request to the device's queue.
constexpr size_t kBatch = 8;
// How many of a group are looked at for one that is in memory.
constexpr size_t kCandidates = 64;

// At most half a mini-epoch, so that what to copy next is known in time.
uint64_t MostBytes(const BinderInput& input, uint32_t mini_epochs) {
  const uint64_t all =
      std::accumulate(input.bytes.begin(), input.bytes.end(), uint64_t{0});
  return std::min(
      {input.memory_bytes / kPartOfMemory, kMostBytes, all / mini_epochs / 2});
}

}  // namespace

MetLookAhead::MetLookAhead(const BinderInput& input, uint32_t mini_epochs,
                           MetProgress& progress)
    : input_(input),
      largest_(input.memory_bytes / kPartOfMemory),
      most_(MostBytes(input, mini_epochs)),
      samples_(
          most_ * input.bytes.size() /
          std::max<uint64_t>(std::accumulate(input.bytes.begin(),
                                             input.bytes.end(), uint64_t{0}),
                             1)),
      progress_(progress),
      groups_(input.grouping->group_count()) {}

uint64_t MetLookAhead::MostOf(uint32_t group) const {
  const uint64_t share = samples_ *
                         input_.grouping->group(GroupId(group)).samples /
                         input_.grouping->sample_count();
  return share + 1;
}

void MetLookAhead::MakeDue(uint32_t group) {
  Group& of = groups_[group];
  if (of.due || of.ahead.size() >= MostOf(group)) return;
  of.due = true;
  due_.push_back(group);
}

MetLookAhead::Drawn MetLookAhead::Take(uint32_t group) {
  Group& of = groups_[group];
  of.taken = true;
  if (of.ahead.empty()) {
    const uint32_t sample = progress_.Draw(group);
    MakeDue(group);
    return {sample, progress_.DrawsReady(group)};
  }
  auto taken = of.ahead.begin();
  const auto end =
      taken + static_cast<int64_t>(std::min(kCandidates, of.ahead.size()));
  for (auto it = taken; it != end && it->turn == taken->turn; ++it) {
    const auto found = memory_.find(it->sample);
    if (found == memory_.end() || !found->second) continue;
    taken = it;
    break;
  }
  const uint32_t sample = taken->sample;
  of.ahead.erase(taken);
  Unawait(sample);
  MakeDue(group);
  return {sample, true};
}

void MetLookAhead::Forget(uint32_t sample) {
  if (!Awaits(sample)) return;
  const uint32_t group = input_.grouping->group_of(SampleId(sample)).value();
  std::deque<Ahead>& ahead = groups_[group].ahead;
  ahead.erase(std::find_if(ahead.begin(), ahead.end(), [&](const Ahead& each) {
    return each.sample == sample;
  }));
  Unawait(sample);
  progress_.TakeBack(sample);
}

void MetLookAhead::Unawait(uint32_t sample) {
  bytes_ -= input_.bytes[sample];
  const auto found = awaited_.find(sample);
  if (--found->second == 0) awaited_.erase(found);
}

void MetLookAhead::Clear() {
  for (Group& group : groups_) group.ahead.clear();
  awaited_.clear();
  lost_.clear();
  bytes_ = 0;
}

void MetLookAhead::Recheck() {
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].taken) MakeDue(group);
  }
}

void MetLookAhead::Arrived(uint32_t sample) {
  const auto found = memory_.find(sample);
  if (found != memory_.end()) found->second = true;
}

void MetLookAhead::Left(uint32_t sample) {
  const auto found = memory_.find(sample);
  if (found == memory_.end()) return;
  // A read that failed is its reader's, and is not tried again here.
  const bool was_here = found->second;
  memory_.erase(found);
  if (was_here && Awaits(sample)) lost_.push_back(sample);
}

uint32_t MetLookAhead::DrawAhead(uint32_t group) {
  const uint32_t sample = progress_.Draw(group);
  groups_[group].ahead.push_back({sample, progress_.TurnOf(group)});
  ++awaited_[sample];
  bytes_ += input_.bytes[sample];
  return sample;
}

std::vector<SampleId> MetLookAhead::NextFetch(uint64_t room) {
  std::vector<SampleId> fetch;
  while (!lost_.empty() && room >= largest_) {
    const uint32_t sample = lost_.front();
    lost_.pop_front();
    if (!Awaits(sample) || memory_.contains(sample)) continue;
    room -= input_.bytes[sample];
    Fetched(sample);
    fetch.emplace_back(sample);
  }
  if (due_.size() < kBatch && 2 * bytes_ > most_) return fetch;
  while (!due_.empty() && bytes_ < most_ && room >= largest_) {
    const uint32_t group = due_.front();
    due_.pop_front();
    groups_[group].due = false;
    if (!progress_.NextIsReady(group)) continue;
    const uint32_t sample = DrawAhead(group);
    MakeDue(group);
    const uint64_t bytes = input_.bytes[sample];
    if (bytes > largest_ || memory_.contains(sample)) continue;
    room -= bytes;
    Fetched(sample);
    fetch.emplace_back(sample);
  }
  return fetch;
}

uint32_t MetLookAhead::Times(uint32_t sample) const {
  const auto found = awaited_.find(sample);
  return found == awaited_.end() ? 0 : found->second;
}

void MetLookAhead::Subtract(std::vector<uint32_t>& counts) const {
  for (const auto& [sample, times] : awaited_) {
    counts[sample] -= std::min(counts[sample], times);
  }
}

}  // namespace shufflefs
