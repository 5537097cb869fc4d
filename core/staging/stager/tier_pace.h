// SPDX-License-Identifier: Apache-2.0
// TierPace says how fast the copying into the tier may go. It limits bytes per
// second, and gives way to readers of the source. Pure: time is passed in.
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

  // After a read, a reader counts as still reading for this time.
  static constexpr std::chrono::milliseconds kQuiet{100};
  // The bytes of a step next to readers, and how long it rests after it: 24
  // times as long as the step took, so that copying takes 4 % of the time.
  static constexpr uint64_t kGentleBytes = uint64_t{1} << 20;
  static constexpr int kRest = 24;

  // `bandwidth`: bytes per second; 0: no limit. `step_ahead`: at most this many
  // bytes per step of copying ahead, because a reader may begin meanwhile; 0:
  // no limit.
  explicit TierPace(uint64_t bandwidth, uint64_t step_ahead = 0)
      : bandwidth_(bandwidth), step_ahead_(step_ahead) {}

  // `reads`: reads of the source for readers so far. The first call has nothing
  // to compare with, so it counts as quiet.
  void Foreground(Time now, uint64_t reads);
  // Returns whether copying must give way. Copying of what is read now never
  // does.
  bool GivesWay(Time now, bool ahead) const {
    return ahead && moved_ && now - last_read_ < kQuiet;
  }

  // How long to wait before the next step. Ask again after the wait.
  Duration Wait(Time now, bool ahead) const;
  // How many bytes one step may copy. A larger file is still one step.
  uint64_t StepBytes(Time now, bool ahead) const;
  // Call it after each step.
  void Stepped(Time begun, Time ended, uint64_t bytes);

 private:
  // Constant.
  const uint64_t bandwidth_;
  const uint64_t step_ahead_;

  bool known_ = false;
  uint64_t reads_ = 0;
  bool moved_ = false;
  Time last_read_{};
  Time rested_{};   // next to readers, not before this
  Time allowed_{};  // by the bandwidth, not before this
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_PACE_H_
