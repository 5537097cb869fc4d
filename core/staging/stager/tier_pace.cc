// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier_pace.h"

#include <algorithm>
#include <limits>

namespace shufflefs {
namespace {

constexpr int64_t kStepsASecond = 8;  // if there is a limit
constexpr uint64_t kLeastStep = 4096;

}  // namespace

void TierPace::Foreground(Time now, uint64_t reads) {
  if (known_ && reads != reads_) {
    moved_ = true;
    last_read_ = now;
  }
  known_ = true;
  reads_ = reads;
}

TierPace::Duration TierPace::Wait(Time now, bool ahead) const {
  Duration wait = std::max(allowed_ - now, Duration::zero());
  if (GivesWay(now, ahead)) wait = std::max(wait, rested_ - now);
  return wait;
}

uint64_t TierPace::StepBytes(Time now, bool ahead) const {
  uint64_t bytes = std::numeric_limits<uint64_t>::max();
  if (ahead && step_ahead_ > 0) bytes = step_ahead_;
  if (GivesWay(now, ahead)) bytes = kGentleBytes;
  if (bandwidth_ > 0) {
    bytes = std::min(bytes, std::max(bandwidth_ / kStepsASecond, kLeastStep));
  }
  return bytes;
}

void TierPace::Stepped(Time begun, Time ended, uint64_t bytes) {
  rested_ = ended + kRest * (ended - begun);
  if (bandwidth_ == 0) return;
  // Unused bandwidth is not saved up.
  const double seconds =
      static_cast<double>(bytes) / static_cast<double>(bandwidth_);
  allowed_ =
      std::max(allowed_, begun) + std::chrono::duration_cast<Duration>(
                                      std::chrono::duration<double>(seconds));
}

}  // namespace shufflefs
