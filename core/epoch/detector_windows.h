// SPDX-License-Identifier: Apache-2.0
// FreshWindow counts how many of the last opens were fresh. It is a sliding
// window of one bit per open with a running sum. Not thread-safe.
#ifndef SHUFFLEFS_CORE_EPOCH_DETECTOR_WINDOWS_H_
#define SHUFFLEFS_CORE_EPOCH_DETECTOR_WINDOWS_H_

#include <cmath>
#include <cstdint>
#include <vector>

namespace shufflefs {

class FreshWindow {
 public:
  // Starts as if `length` (>= 1) fresh opens had come, because a pass begins
  // with fresh opens.
  explicit FreshWindow(uint64_t length)
      : reopen_(length, false), fresh_(length) {}

  void Push(bool reopen) {
    if (reopen_[next_] != reopen) {
      reopen_[next_] = reopen;
      fresh_ += reopen ? uint64_t{0} - 1 : 1;
    }
    if (++next_ == reopen_.size()) next_ = 0;
  }
  void Clear() {
    reopen_.assign(reopen_.size(), false);
    fresh_ = reopen_.size();
  }
  uint64_t fresh() const { return fresh_; }

  // At or below this number of fresh opens, fresh opens count as ceased.
  // `covered` is the share of the names that were seen before the candidate: a
  // new random pass opens those again. The threshold is one standard deviation
  // above the mean of a binomial.
  uint64_t Threshold(double covered) const {
    const double length = static_cast<double>(reopen_.size());
    return static_cast<uint64_t>((1 - covered) * length +
                                 std::sqrt(covered * (1 - covered) * length));
  }

 private:
  std::vector<bool> reopen_;
  uint64_t fresh_;
  uint64_t next_ = 0;
};

// The detector uses the short window once the length of a pass is known, and
// the long window before that.
struct DetectorWindows {
  explicit DetectorWindows(uint64_t length) : near(length), far(3 * length) {}
  void Push(bool reopen) {
    near.Push(reopen);
    far.Push(reopen);
  }
  void Clear() {
    near.Clear();
    far.Clear();
  }

  FreshWindow near;
  FreshWindow far;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_DETECTOR_WINDOWS_H_
