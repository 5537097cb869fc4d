// SPDX-License-Identifier: Apache-2.0
#include "policies/sample_table.h"

#include <algorithm>

namespace shufflefs {

SampleTable::SampleTable(const Grouping& grouping)
    : sample_of_(grouping.sample_count(), kNone),
      name_of_(grouping.sample_count(), kNone),
      state_(grouping.sample_count()) {
  groups_.reserve(grouping.group_count());
  firsts_.reserve(grouping.group_count());
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    groups_.push_back(
        {.count = group.samples, .unbound = group.samples, .open = {}});
    firsts_.push_back(static_cast<uint32_t>(group.first_sample));
  }
}

uint32_t SampleTable::group_of(uint32_t sample) const {
  const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), sample);
  return static_cast<uint32_t>(behind - firsts_.begin() - 1);
}

void SampleTable::BeginEpoch(absl::Span<const CarriedPair> bound) {
  std::fill(sample_of_.begin(), sample_of_.end(), kNone);
  std::fill(name_of_.begin(), name_of_.end(), kNone);
  open_at_.clear();
  for (uint32_t g = 0; g < group_count(); ++g) {
    Group& group = groups_[g];
    group.unbound = group.count;
    group.ready = 0;
    group.open.clear();
    for (uint32_t s = firsts_[g]; s < firsts_[g] + group.count; ++s) {
      state_[s] &= kPlaces;
      if (state_[s] != kOut) ++group.ready;
    }
  }
  for (const CarriedPair& pair : bound) {
    Bind(static_cast<uint32_t>(pair.name), static_cast<uint32_t>(pair.sample));
    SetDone(static_cast<uint32_t>(pair.sample));
  }
}

void SampleTable::Bind(uint32_t name, uint32_t sample) {
  if (held(sample)) RemoveReady(sample);
  sample_of_[name] = sample;
  name_of_[sample] = name;
  --groups_[group_of(sample)].unbound;
}

uint32_t SampleTable::Draw(uint32_t group, Rng* rng) const {
  const std::vector<uint32_t>& open = groups_[group].open;
  return open[rng->Bounded(open.size())];
}

void SampleTable::Open(uint32_t sample) {
  if (!held(sample) || bound(sample) || open(sample)) return;
  std::vector<uint32_t>& open = groups_[group_of(sample)].open;
  open_at_[sample] = static_cast<uint32_t>(open.size());
  open.push_back(sample);
  state_[sample] |= kOpen;
}

void SampleTable::SetComing(uint32_t sample) {
  SetPlace(sample, kComing);
  if (!bound(sample)) ++groups_[group_of(sample)].ready;
}

void SampleTable::SetHere(uint32_t sample) {
  if (place(sample) == kComing) SetPlace(sample, kHere);
}

void SampleTable::SetOut(uint32_t sample) {
  if (!held(sample)) return;
  if (!bound(sample)) RemoveReady(sample);
  SetPlace(sample, kOut);
  state_[sample] |= bound(sample) && !done(sample) ? kDone : kLost;
}

void SampleTable::RemoveReady(uint32_t sample) {
  Group& group = groups_[group_of(sample)];
  --group.ready;
  if (!open(sample)) return;
  state_[sample] &= static_cast<uint8_t>(~kOpen);
  // The last of the group takes its place.
  const auto at = open_at_.find(sample);
  const uint32_t last = group.open.back();
  group.open[at->second] = last;
  open_at_[last] = at->second;
  open_at_.erase(sample);
  group.open.pop_back();
}

}  // namespace shufflefs
