// SPDX-License-Identifier: Apache-2.0
#include "policies/sample_table.h"

#include <algorithm>

namespace shufflefs {

SampleTable::SampleTable(const Grouping& grouping)
    : group_of_(grouping.sample_count()),
      sample_of_(grouping.sample_count(), kNone),
      name_of_(grouping.sample_count(), kNone),
      state_(grouping.sample_count()),
      open_(grouping.sample_count()),
      open_at_(grouping.sample_count()) {
  groups_.reserve(grouping.group_count());
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    groups_.push_back({.first = static_cast<uint32_t>(group.first_sample),
                       .count = group.samples,
                       .unbound = group.samples});
    std::fill_n(group_of_.begin() + groups_.back().first, group.samples, g);
  }
}

void SampleTable::BeginEpoch(absl::Span<const CarriedPair> bound) {
  std::fill(sample_of_.begin(), sample_of_.end(), kNone);
  std::fill(name_of_.begin(), name_of_.end(), kNone);
  for (Group& group : groups_) {
    group.unbound = group.count;
    group.ready = 0;
    group.open = 0;
  }
  for (uint32_t s = 0; s < size(); ++s) {
    state_[s] &= kPlaces;
    if (state_[s] != kOut) ++groups_[group_of_[s]].ready;
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
  --groups_[group_of_[sample]].unbound;
}

uint32_t SampleTable::Draw(uint32_t group, Rng* rng) const {
  const Group& g = groups_[group];
  return open_[g.first + rng->Bounded(g.open)];
}

void SampleTable::Open(uint32_t sample) {
  if (!held(sample) || bound(sample) || open(sample)) return;
  Group& group = groups_[group_of_[sample]];
  open_[group.first + group.open] = sample;
  open_at_[sample] = group.open++;
  state_[sample] |= kOpen;
}

void SampleTable::SetComing(uint32_t sample) {
  SetPlace(sample, kComing);
  if (!bound(sample)) ++groups_[group_of_[sample]].ready;
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
  Group& group = groups_[group_of_[sample]];
  --group.ready;
  if (!open(sample)) return;
  state_[sample] &= static_cast<uint8_t>(~kOpen);
  const uint32_t last = open_[group.first + --group.open];
  open_[group.first + open_at_[sample]] = last;
  open_at_[last] = open_at_[sample];
}

}  // namespace shufflefs
