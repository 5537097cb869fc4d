// SPDX-License-Identifier: Apache-2.0
#include "core/policy/mini_epoch_count.h"

#include <algorithm>

namespace shufflefs {
namespace {

// The tier must hold this many mini-epochs: the current one, the one before it,
// from which some groups still draw, and a part of the next.
constexpr double kMiniEpochsInTier = 2.5;
// Space for the tier's tables and the ends of its parts.
constexpr double kOverhead = 1.04;

}  // namespace

uint32_t MiniEpochsInTier(uint64_t samples, uint64_t bytes,
                          uint64_t tier_bytes) {
  const double needed = kOverhead * static_cast<double>(bytes);
  const double tier = static_cast<double>(tier_bytes);
  if (tier <= 0 || needed <= tier) return 1;
  const double most = std::clamp(static_cast<double>(samples), 2.0, 65536.0);
  return static_cast<uint32_t>(
      std::clamp(kMiniEpochsInTier * needed / tier + 1, 2.0, most));
}

}  // namespace shufflefs
