// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_shares.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// Random draws before all samples are tried in turn.
constexpr int kDraws = 64;
// An epoch that omits more than this part of a group was interrupted, or is of
// one node of several. Single samples then do not give way.
constexpr uint64_t kMostSkipped = 8;

}  // namespace

MetShares::MetShares(const Grouping& grouping, uint64_t cycle)
    : grouping_(grouping),
      cycle_(cycle),
      served_(grouping.sample_count()),
      gave_way_(served_.size()) {}

void MetShares::Restart(RandomKey key, std::vector<uint32_t> served) {
  served_ = std::move(served);
  target_.assign(grouping_.group_count(), 0);
  excused_.assign(cycle_ == 1 ? served_.size() : 0, 0);
  for (uint32_t g = 0; g < grouping_.group_count(); ++g) {
    const Grouping::Group& group = grouping_.group(GroupId(g));
    const auto begin = served_.begin() + static_cast<long>(group.first_sample);
    const uint32_t least =
        group.samples == 0 ? 0
                           : *std::min_element(begin, begin + group.samples);
    target_[g] = (least / cycle_ + 1) * cycle_;
    if (cycle_ == 1) ForgetDebts(g);
  }
  gave_way_.assign(served_.size(), false);
  all_gave_.assign(grouping_.group_count(), false);
  giving_ = Rng(key);
  for (uint32_t g = 0; g < grouping_.group_count(); ++g) GiveWayForServed(g);
}

uint64_t MetShares::Left(uint32_t group, uint32_t sample) const {
  const uint64_t target = target_[group];
  const uint64_t had = uint64_t{served_[sample]} + (gave_way_[sample] ? 1 : 0) +
                       (excused_.empty() ? 0 : excused_[sample]);
  return target > had ? target - had : 0;
}

std::vector<uint32_t> MetShares::Raise(uint32_t group) {
  std::vector<uint32_t> owed;
  const Grouping::Group& samples = grouping_.group(GroupId(group));
  for (uint32_t i = 0; i < samples.samples; ++i) {
    const auto sample = static_cast<uint32_t>(samples.first_sample + i);
    owed.insert(owed.end(), Left(group, sample), sample);
    gave_way_[sample] = false;
  }
  all_gave_[group] = false;
  target_[group] += cycle_;
  return owed;
}

void MetShares::ForgetDebts(uint32_t group) {
  const Grouping::Group& in = grouping_.group(GroupId(group));
  const uint64_t end = in.first_sample + in.samples;
  uint32_t most = 0;
  for (uint64_t s = in.first_sample; s < end; ++s) {
    most = std::max(most, served_[s]);
  }
  for (uint64_t s = in.first_sample; s < end; ++s) {
    excused_[s] = most - served_[s];
  }
  target_[group] = uint64_t{most} + 1;
}

void MetShares::Serve(uint32_t sample) {
  const uint32_t group = grouping_.group_of(SampleId(sample)).value();
  const bool in_share = Left(group, sample) > 0;
  ++served_[sample];
  if (in_share || cycle_ == 1) return;
  gave_way_[sample] = false;  // it came after all
  GiveWay(group);
}

void MetShares::TakeBack(uint32_t sample) {
  served_[sample] -= served_[sample] > 0;
  const uint32_t group = grouping_.group_of(SampleId(sample)).value();
  all_gave_[group] = false;
}

void MetShares::Skip(uint32_t group, uint64_t names) {
  if (cycle_ == 1) return;
  const uint64_t samples = grouping_.group(GroupId(group)).samples;
  if (names * kMostSkipped > samples) return;
  for (uint64_t i = 0; i < names && GiveWay(group); ++i) {
  }
}

bool MetShares::MayGiveWay(uint32_t group, uint32_t sample) const {
  return !gave_way_[sample] && Left(group, sample) > 0;
}

bool MetShares::GiveWay(uint32_t group) {
  if (all_gave_[group]) return false;  // does not try all samples again
  const Grouping::Group& in = grouping_.group(GroupId(group));
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
void MetShares::GiveWayForServed(uint32_t group) {
  if (cycle_ == 1) return;
  const Grouping::Group& in = grouping_.group(GroupId(group));
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
