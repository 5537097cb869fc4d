// SPDX-License-Identifier: Apache-2.0
// Which files of a job were opened in its epoch, and when the next one begins:
// when files are opened again. A few opens more or less (a file that is opened
// twice, a sampler's padding) begin none, and an epoch that was broken off
// early is seen to have ended when enough of what was opened comes again.
//
// Pure; belongs to one thread. Memory: a bit a file.
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

  // Takes note. Not empty: with these opens, of which this is the last, another
  // epoch began; they are noted in it.
  std::vector<Open> Note(const Open& open);
  // The epoch is over, whatever was opened; these are the first of the next.
  void Begin(const std::vector<Open>& first);

  // By index.
  const std::vector<bool>& opened() const { return opened_; }
  uint64_t count() const { return count_; }
  // Whether files come again and again within the epoch, so that they are drawn
  // with replacement, or along a way that crosses itself. Of m draws of n some
  // m^2 / 2n come again, of an order nothing does. It shows early, unless what
  // comes again is still in the kernel's memory and is not seen: then, as soon
  // as that has become too small.
  bool draws_again() const { return draws_again_; }

 private:
  static constexpr uint64_t kEnough = 8;  // that come again
  static constexpr int64_t kWeight = 3;   // of one, against new ones
  static constexpr size_t kMostSuspects = 512;
  static constexpr size_t kRecent = 64;       // opens that may be opened twice
  static constexpr uint64_t kDrawsAgain = 8;  // that come again
  static constexpr uint64_t kDrawsFactor = 64;  // within sqrt(64 n) opens
  static constexpr uint64_t kStrays = 32;       // the same, at any time

  bool IsRecent(uint32_t index) const;
  void Add(uint32_t index);
  void NoteDraw(bool again);
  void ForgetSuspects();

  std::vector<bool> opened_;
  uint64_t count_ = 0;
  uint64_t draws_ = 0;  // opens
  uint64_t drawn_again_ = 0;
  uint64_t strays_ = 0;  // came again, and no epoch had begun
  bool draws_again_ = false;
  std::array<uint32_t, kRecent> recent_{};  // index + 1; 0: none
  size_t next_recent_ = 0;
  // Since something came again.
  std::vector<Open> suspects_;
  uint64_t again_ = 0;
  int64_t score_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_EPOCH_OPENS_H_
