// SPDX-License-Identifier: Apache-2.0
#include "policies/sample_table.h"

#include <algorithm>

namespace shufflefs {

SampleTable::SampleTable(const Grouping& grouping)
    : group_of_(grouping.sample_count()),
      sample_of_(grouping.sample_count(), kNone),
      name_of_(grouping.sample_count(), kNone),
      state_(grouping.sample_count()),
      ready_(grouping.sample_count()),
      ready_at_(grouping.sample_count()) {
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
  bound_count_ = 0;
  for (Group& group : groups_) {
    group.unbound = group.count;
    group.ready = 0;
    group.here = 0;
  }
  for (uint32_t s = 0; s < size(); ++s) {
    state_[s] &= kPlaces;
    if (state_[s] != kOut) AddReady(s);
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
  ++bound_count_;
}

uint32_t SampleTable::Draw(uint32_t group, Rng* rng) const {
  const Group& g = groups_[group];
  return ready_[g.first + rng->Bounded(g.here > 0 ? g.here : g.ready)];
}

void SampleTable::SetComing(uint32_t sample) {
  SetPlace(sample, kComing);
  if (!bound(sample)) AddReady(sample);
}

void SampleTable::SetHere(uint32_t sample) {
  if (place(sample) != kComing) return;
  if (!bound(sample)) RemoveReady(sample);
  SetPlace(sample, kHere);
  if (!bound(sample)) AddReady(sample);
}

void SampleTable::SetOut(uint32_t sample) {
  if (!held(sample)) return;
  if (!bound(sample)) RemoveReady(sample);
  SetPlace(sample, kOut);
  state_[sample] |= bound(sample) && !done(sample) ? kDone : kLost;
}

void SampleTable::PutReady(const Group& group, uint32_t at, uint32_t sample) {
  ready_[group.first + at] = sample;
  ready_at_[sample] = at;
}

void SampleTable::AddReady(uint32_t sample) {
  Group& group = groups_[group_of_[sample]];
  uint32_t at = group.ready++;
  if (place(sample) == kHere) {
    if (at != group.here) PutReady(group, at, ready_[group.first + group.here]);
    at = group.here++;
  }
  PutReady(group, at, sample);
}

void SampleTable::RemoveReady(uint32_t sample) {
  Group& group = groups_[group_of_[sample]];
  uint32_t hole = ready_at_[sample];
  if (place(sample) == kHere) {
    --group.here;
    if (hole != group.here) {
      PutReady(group, hole, ready_[group.first + group.here]);
    }
    hole = group.here;
  }
  --group.ready;
  if (hole != group.ready) {
    PutReady(group, hole, ready_[group.first + group.ready]);
  }
}

}  // namespace shufflefs
