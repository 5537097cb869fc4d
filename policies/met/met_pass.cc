// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_pass.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

MetPass::MetPass(Input input)
    : mini_epochs_(input.mini_epochs),
      key_(input.key),
      sizes_(input.mini_epochs),
      raises_(std::move(input.raises)) {
  const Grouping& grouping = *input.grouping;
  const uint32_t groups = grouping.group_count();
  begin_.reserve(groups + 1);
  rotation_.reserve(groups);
  raises_.resize(groups);
  const bool prefers = !input.staged.empty();
  const auto earlier = [&](uint32_t a, uint32_t b) -> bool {
    if (prefers && input.staged[a] != input.staged[b]) return input.staged[a];
    return input.left[a] > input.left[b];
  };
  for (uint32_t g = 0; g < groups; ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    const uint64_t begin = samples_.size();
    begin_.push_back(begin);
    Rng rng(SubKey(key_, group.key));
    rotation_.push_back(static_cast<uint32_t>(rng.Bounded(mini_epochs_)));
    for (uint32_t i = 0; i < group.samples; ++i) {
      const auto sample = static_cast<uint32_t>(group.first_sample + i);
      if (input.left[sample] > 0) samples_.push_back(sample);
    }
    const auto drawn = absl::MakeSpan(samples_).subspan(begin);
    for (uint64_t i = drawn.size(); i > 1; --i) {
      std::swap(drawn[i - 1], drawn[rng.Bounded(i)]);
    }
    // Usually all are alike, and nothing is to be sorted.
    if (!std::is_sorted(drawn.begin(), drawn.end(), earlier)) {
      std::stable_sort(drawn.begin(), drawn.end(), earlier);
    }
  }
  begin_.push_back(samples_.size());
  for (uint32_t g = 0; g < groups; ++g) {
    for (uint32_t m = 0; m < mini_epochs_; ++m) {
      sizes_[m] += share(g, m).size();
    }
  }
}

MetPass::Range MetPass::RangeOf(uint32_t group, uint32_t mini) const {
  const uint64_t count = begin_[group + 1] - begin_[group];
  const auto bound = [&](uint64_t m) {
    return begin_[group] + (m * count + rotation_[group]) / mini_epochs_;
  };
  return {bound(mini), bound(uint64_t{mini} + 1)};
}

absl::Span<uint32_t> MetPass::share(uint32_t group, uint32_t mini) {
  const Range range = RangeOf(group, mini);
  return absl::MakeSpan(samples_).subspan(range.begin, range.end - range.begin);
}

absl::Span<const uint32_t> MetPass::share(uint32_t group, uint32_t mini) const {
  const Range range = RangeOf(group, mini);
  return absl::MakeConstSpan(samples_).subspan(range.begin,
                                               range.end - range.begin);
}

}  // namespace shufflefs
