// SPDX-License-Identifier: Apache-2.0
#include "policies/sample_table.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

SampleTable::SampleTable(const Grouping& grouping)
    : size_(static_cast<uint32_t>(grouping.sample_count())),
      sample_of_(std::make_unique_for_overwrite<uint32_t[]>(size_)),
      name_of_(std::make_unique_for_overwrite<uint32_t[]>(size_)),
      state_(size_),
      held_(size_),
      renewed_(size_ / kBlock + 1) {
  groups_.reserve(grouping.group_count());
  firsts_.reserve(grouping.group_count());
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    groups_.push_back(
        {.count = group.samples, .unbound = group.samples, .open = {}});
    firsts_.push_back(static_cast<uint32_t>(group.first_sample));
  }
  group_at_.reserve(size_ / kStride + 2);
  for (uint64_t s = 0; s < size_; s += kStride) {
    const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), s);
    group_at_.push_back(static_cast<uint32_t>(behind - firsts_.begin() - 1));
  }
  group_at_.push_back(group_count() - 1);
}

uint32_t SampleTable::group_of(uint32_t sample) const {
  const uint32_t at = sample / kStride;
  const auto first = firsts_.begin();
  const auto behind = std::upper_bound(first + group_at_[at] + 1,
                                       first + group_at_[at + 1] + 1, sample);
  return static_cast<uint32_t>(behind - first - 1);
}

void SampleTable::BeginEpoch(absl::Span<const NameBinding> bound) {
  ++epoch_;
  for (Group& group : groups_) {
    group.unbound = group.count;
    group.ready = 0;
    group.open.clear();
  }
  ForEachHeld([this](uint32_t s) { ++groups_[group_of(s)].ready; });
  for (const NameBinding& pair : bound) {
    Bind(static_cast<uint32_t>(pair.name), static_cast<uint32_t>(pair.sample));
    SetDone(static_cast<uint32_t>(pair.sample));
  }
}

void SampleTable::RenewBlock(uint32_t block) {
  renewed_[block] = epoch_;
  const uint32_t first = block * kBlock;
  const uint32_t count = std::min(kBlock, size_ - first);
  std::fill_n(&sample_of_[first], count, kNone);
  std::fill_n(&name_of_[first], count, kNone);
  for (uint32_t s = first; s < first + count; ++s) state_[s] &= kPlaces;
}

void SampleTable::Bind(uint32_t name, uint32_t sample) {
  Renew(name);
  Renew(sample);
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
  Renewed(sample) |= kOpen;
  name_of_[sample] = static_cast<uint32_t>(open.size());
  open.push_back(sample);
}

void SampleTable::SetComing(uint32_t sample) {
  SetPlace(sample, kComing);
  held_.Set(sample);
  if (!bound(sample)) ++groups_[group_of(sample)].ready;
}

void SampleTable::SetHere(uint32_t sample) {
  if (place(sample) == kComing) SetPlace(sample, kHere);
}

void SampleTable::SetOut(uint32_t sample) {
  if (!held(sample)) return;
  if (!bound(sample)) RemoveReady(sample);
  SetPlace(sample, kOut);
  held_.Clear(sample);
  Renewed(sample) |= bound(sample) && !done(sample) ? kDone : kLost;
}

void SampleTable::RemoveReady(uint32_t sample) {
  Group& group = groups_[group_of(sample)];
  --group.ready;
  if (!open(sample)) return;
  Renewed(sample) &= static_cast<uint8_t>(~kOpen);
  // The last of the group takes its place.
  const uint32_t at = std::exchange(name_of_[sample], kNone);
  const uint32_t last = group.open.back();
  group.open.pop_back();
  if (last == sample) return;
  group.open[at] = last;
  name_of_[last] = at;
}

}  // namespace shufflefs
