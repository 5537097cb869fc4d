// SPDX-License-Identifier: Apache-2.0
// How fast copying into the tier may go: a limit of bytes a second, and giving
// way to readers of the source. Pure: time is passed in.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_PACE_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_PACE_H_

#include <chrono>
#include <cstdint>

namespace shufflefs {

// For one thread.
class TierPace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // Reads within this time are somebody who goes on reading.
  static constexpr std::chrono::milliseconds kQuiet{100};
  // A step beside readers, and how long it rests after it: 24 times what it
  // took, so that copying takes 4 % of the time.
  static constexpr uint64_t kGentleBytes = uint64_t{1} << 20;
  static constexpr int kRest = 24;

  // `bandwidth`: bytes a second; 0: as many as can be. `step_ahead`: of a step
  // of copying ahead at most, for who may begin to read meanwhile; 0: any.
  explicit TierPace(uint64_t bandwidth, uint64_t step_ahead = 0)
      : bandwidth_(bandwidth), step_ahead_(step_ahead) {}

  // Reads of the source for readers so far. Of the first call nothing is known
  // to compare it with: quiet.
  void Foreground(Time now, uint64_t reads);
  // Copying ahead gives way, copying what is read now does not.
  bool GivesWay(Time now, bool ahead) const {
    return ahead && moved_ && now - last_read_ < kQuiet;
  }

  // How long to wait now before the next step. Ask again after it.
  Duration Wait(Time now, bool ahead) const;
  // How much one step may be; a file that is larger is one, too.
  uint64_t StepBytes(Time now, bool ahead) const;
  // A step was done.
  void Stepped(Time begun, Time ended, uint64_t bytes);

 private:
  // Constant.
  const uint64_t bandwidth_;
  const uint64_t step_ahead_;

  bool known_ = false;
  uint64_t reads_ = 0;
  bool moved_ = false;
  Time last_read_{};
  Time rested_{};   // beside readers, not before
  Time allowed_{};  // by the bandwidth, not before
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_PACE_H_
