// SPDX-License-Identifier: Apache-2.0
// Which sample gives way to what was shown beyond its share. Each sample gives
// way at most once in met.epochs. If no sample is left that could, as late in
// the last pass, or because of what the last epoch omits, samples may come
// twice less.
#include <algorithm>
#include <vector>

#include "policies/met/met_progress.h"

namespace shufflefs {
namespace {

// Random draws before all samples are tried in turn.
constexpr int kDraws = 64;
// An epoch that omits more than this part of a group was interrupted, or is of
// one node of several. Single samples then do not give way.
constexpr uint64_t kMostSkipped = 8;

}  // namespace

void MetProgress::Serve(uint32_t sample) {
  const uint32_t group = input_.grouping->group_of(SampleId(sample)).value();
  const bool in_share = Left(group, sample) > 0;
  ++served_[sample];
  if (in_share || cycle_ == 1) return;
  gave_way_[sample] = false;  // it came after all
  GiveWay(group);
}

void MetProgress::TakeBack(uint32_t sample) {
  served_[sample] -= served_[sample] > 0;
  const uint32_t group = input_.grouping->group_of(SampleId(sample)).value();
  all_gave_[group] = false;
}

void MetProgress::Skip(uint32_t group, uint64_t names) {
  if (cycle_ == 1) return;
  const uint64_t samples = input_.grouping->group(GroupId(group)).samples;
  if (names * kMostSkipped > samples) return;
  for (uint64_t i = 0; i < names && GiveWay(group); ++i) {
  }
}

bool MetProgress::MayGiveWay(uint32_t group, uint32_t sample) const {
  return !gave_way_[sample] && Left(group, sample) > 0;
}

bool MetProgress::GiveWay(uint32_t group) {
  if (all_gave_[group]) return false;  // does not try all samples again
  const Grouping::Group& in = input_.grouping->group(GroupId(group));
  const auto drawn = [&] {
    return static_cast<uint32_t>(in.first_sample + giving_.Bounded(in.samples));
  };
  uint32_t sample = drawn();
  for (int i = 0; i < kDraws && !MayGiveWay(group, sample); ++i) {
    sample = drawn();
  }
  for (uint32_t i = 0; i < in.samples; ++i) {
    if (MayGiveWay(group, sample)) {
      gave_way_[sample] = true;
      return true;
    }
    if (++sample == in.first_sample + in.samples) {
      sample = static_cast<uint32_t>(in.first_sample);
    }
  }
  all_gave_[group] = true;
  return false;
}

// Chooses those that have least left. In an earlier run they may be the ones
// that gave way, and what is in their mini-epoch is no longer copied for them.
void MetProgress::GiveWayForServed(uint32_t group) {
  if (cycle_ == 1) return;
  const Grouping::Group& in = input_.grouping->group(GroupId(group));
  const auto first = static_cast<uint32_t>(in.first_sample);
  uint64_t beyond = 0;
  std::vector<uint32_t> may;
  for (uint32_t sample = first; sample < first + in.samples; ++sample) {
    const uint64_t served = served_[sample];
    if (served > target_[group]) beyond += served - target_[group];
    if (MayGiveWay(group, sample)) may.push_back(sample);
  }
  if (beyond == 0) return;
  std::stable_sort(may.begin(), may.end(), [&](uint32_t a, uint32_t b) -> bool {
    return Left(group, a) < Left(group, b);
  });
  if (beyond < may.size()) may.resize(beyond);
  for (const uint32_t sample : may) gave_way_[sample] = true;
}

}  // namespace shufflefs
