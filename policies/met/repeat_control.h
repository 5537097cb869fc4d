// SPDX-License-Identifier: Apache-2.0
// RepeatControl decides when to go on from a mini-epoch to the next. It is the
// repeating factor of met: fixed, as small as the copying allows, or adapted to
// the losses that the job reports.
//
// Adaptive (met.adapt) means: never before the next mini-epoch is ready, and
// never more often than most(). Between these bounds it repeats
//   score      while the loss improves. It ends after met.patience repetitions
//              without a better loss.
//   bollinger  until a loss falls below the band of the last met.scores losses:
//              their mean minus kBand standard deviations. The model then
//              memorises what it is shown.
// If the job reports no loss for a mini-epoch, it comes as often as an earlier
// run learnt, else as without met.adapt.
#ifndef SHUFFLEFS_POLICIES_MET_REPEAT_CONTROL_H_
#define SHUFFLEFS_POLICIES_MET_REPEAT_CONTROL_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "policies/met/met_options.h"

namespace shufflefs {

// A small state machine without I/O, threads or clocks. Not thread-safe.
class RepeatControl {
 public:
  // met.repeat = auto repeats at most this often.
  static constexpr uint64_t kMostByItself = 8;
  // Distance of the band from the mean of the losses, in standard deviations.
  static constexpr double kBand = 2;
  // Factors are learnt for this many mini-epochs of a run, and not for later
  // ones.
  static constexpr uint64_t kMostSaved = 4096;

  // `learnt`: the factors of an earlier run, in the order of its mini-epochs;
  // 0: unknown. They are used if met.adapt is set, for mini-epochs without a
  // reported loss.
  RepeatControl(const MetOptions& options, std::vector<uint32_t> learnt);

  // The next mini-epoch of the run begins.
  void BeginMiniEpoch() { BeginMiniEpoch(next_); }
  // A mini-epoch begins in a run that continues after a restart. `number`: its
  // number in the run, from 0.
  void BeginMiniEpoch(uint64_t number);
  // A loss of the job; lower is better. NaN and infinities count as not better.
  void Feedback(double loss);
  // Returns whether to show the mini-epoch once more, after `done` repetitions
  // (>= 1), including those before a restart. `next_ready`: the next mini-epoch
  // is in the tier. May be called again for the same repetition.
  bool Again(uint64_t done, bool next_ready);

  // The most repetitions of any mini-epoch: 1 if met.epochs is unknown.
  uint64_t most() const { return most_; }
  // The factors of the mini-epochs that ended, including earlier runs. Recorded
  // if met.adapt is set and a loss was reported.
  const std::vector<uint32_t>& learnt() const { return learnt_; }
  // The reason of the last answer, or what decides, in some words.
  const std::string& why() const { return why_; }

 private:
  struct Answer {
    bool again;
    std::string why;
  };
  Answer Decide(uint64_t done, bool next_ready) const;
  Answer DecideWithoutLoss(uint64_t done) const;
  Answer DecideByLoss() const;
  uint64_t SavedFactor() const;  // of this mini-epoch; 0: unknown
  bool IsBelowBand(double loss) const;
  void EndRepetition(uint64_t done);
  void Learn(uint64_t factor);

  const MetOptions options_;
  const uint64_t most_;
  std::vector<uint32_t> learnt_;
  uint64_t mini_epoch_ = 0;    // number in this run, from 0
  uint64_t next_ = 0;          // that of the next one
  std::deque<double> scores_;  // the last met.scores losses, of any mini-epoch

  // State of this mini-epoch.
  double best_ = std::numeric_limits<double>::infinity();
  uint64_t told_ = 0;     // number of losses
  uint64_t counted_ = 0;  // repetitions that stale_ includes
  uint64_t stale_ = 0;    // repetitions without a better loss
  bool better_ = false;   // since the last repetition ended
  bool below_ = false;    // a loss fell below the band
  std::string why_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_REPEAT_CONTROL_H_
