// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_model.h"

#include <algorithm>
#include <cmath>

namespace shufflefs {
namespace {

// What readers get from the performance tier, at most.
double ShownBytes(const MetTiers& tiers) {
  return std::min(tiers.consumed_bytes, tiers.tier_bytes);
}

}  // namespace

double MetCapacityDraw(const MetTiers& tiers, uint64_t rf) {
  return std::min(tiers.consumed_bytes / static_cast<double>(rf),
                  tiers.capacity_bytes);
}

double MetThroughput(const MetTiers& tiers, uint64_t rf) {
  const double copied = tiers.capacity_bytes * static_cast<double>(rf);
  return tiers.peak_samples * std::min(ShownBytes(tiers), copied) /
         tiers.consumed_bytes;
}

uint64_t MetLeastRepeat(const MetTiers& tiers) {
  const double least = std::ceil(ShownBytes(tiers) / tiers.capacity_bytes);
  // This bound is too large to matter. Without it the cast could be undefined.
  return static_cast<uint64_t>(std::clamp(least, 1.0, 1e18));
}

MetTrace TraceMet(const MetTiers& tiers, double dataset_bytes,
                  absl::Span<const uint64_t> repeats) {
  MetTrace trace;
  if (repeats.empty()) return trace;
  const double bytes = dataset_bytes / static_cast<double>(repeats.size());
  const double copy = bytes / tiers.capacity_bytes;
  trace.first_copy = copy;
  trace.copied_bytes = dataset_bytes;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const double shown_bytes = bytes * static_cast<double>(repeats[i]);
    const double show = shown_bytes / ShownBytes(tiers);
    trace.shown += show;
    trace.samples += shown_bytes / tiers.consumed_bytes * tiers.peak_samples;
    const bool is_last = i + 1 == repeats.size();
    if (!is_last) trace.waited += std::max(0.0, copy - show);
  }
  return trace;
}

}  // namespace shufflefs
