// SPDX-License-Identifier: Apache-2.0
// EpochOpens records which files of a job were opened in its epoch. It detects
// the next epoch when files are opened again. A few repeated opens (a file that
// is opened twice, the padding of a sampler) begin no epoch. If an epoch was
// stopped early, the next one is detected when enough files are opened again.
//
// Pure. Use it from one thread. Memory: one bit per file.
#ifndef SHUFFLEFS_CORE_SAMPLER_EPOCH_OPENS_H_
#define SHUFFLEFS_CORE_SAMPLER_EPOCH_OPENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shufflefs {

class EpochOpens {
 public:
  struct Open {
    uint32_t index = 0;
    uint64_t thread = 0;
  };

  explicit EpochOpens(uint32_t files) : opened_(files) {}

  // Records an open. If the result is not empty, these opens began another
  // epoch and count in it. `open` is the last of them.
  std::vector<Open> Note(const Open& open);
  // The epoch is over for another reason. `first` are the first opens of the
  // next one.
  void Begin(const std::vector<Open>& first);

  // By index.
  const std::vector<bool>& opened() const { return opened_; }
  uint64_t count() const { return count_; }
  // Returns whether files are repeated within the epoch. Then they are drawn
  // with replacement, or along a path that crosses itself. Of m draws from n
  // files about m^2 / 2n are repeated; a permutation repeats none. This shows
  // early unless the kernel still has the repeated files in memory and hides
  // the reads. Then it shows when the kernel's memory has become too small for
  // them.
  bool draws_again() const { return draws_again_; }

 private:
  static constexpr uint64_t kEnough = 8;  // repeated opens
  static constexpr int64_t kWeight = 3;   // of a repeated open against new ones
  static constexpr size_t kMostSuspects = 512;
  static constexpr size_t kRecent = 64;       // files that may be opened twice
  static constexpr uint64_t kDrawsAgain = 8;  // repeated opens
  static constexpr uint64_t kDrawsFactor = 64;  // within sqrt(64 n) opens
  static constexpr uint64_t kStrays = 32;       // repeated opens, at any time

  bool IsRecent(uint32_t index) const;
  void Add(uint32_t index);
  void NoteDraw(bool again);
  void ForgetSuspects();

  std::vector<bool> opened_;
  uint64_t count_ = 0;
  uint64_t draws_ = 0;  // opens
  uint64_t drawn_again_ = 0;
  uint64_t strays_ = 0;  // repeated opens that began no epoch
  bool draws_again_ = false;
  std::array<uint32_t, kRecent> recent_{};  // index + 1; 0: none
  size_t next_recent_ = 0;
  // Opens since the first repeated one.
  std::vector<Open> suspects_;
  uint64_t again_ = 0;
  int64_t score_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_EPOCH_OPENS_H_
