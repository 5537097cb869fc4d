// SPDX-License-Identifier: Apache-2.0
// When to go on from a mini-epoch to the next: the repeating factor of met,
// fixed, as small as the copying allows, or by what the job tells of its loss.
//
// Adaptive (met.adapt) means: never before the next mini-epoch is ready, never
// more often than most(), and between these
//   score      while the loss improves; the end comes after met.patience
//              repetitions that brought no better one;
//   bollinger  until a loss falls below the band of the last met.scores ones,
//              their mean less kBand standard deviations: the model memorises
//              what it is shown.
// A mini-epoch of which no loss is told comes as often as a former run learnt,
// else as without met.adapt.
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
  // met.repeat = auto repeats no more often than this.
  static constexpr uint64_t kMostByItself = 8;
  // Standard deviations between the mean of the losses and their band.
  static constexpr double kBand = 2;
  // Mini-epochs of a run whose factors are learnt; of later ones none is.
  static constexpr uint64_t kMostLearnt = 4096;

  // `learnt`: the factors of a former run, by mini-epoch in their order, used
  // where met.adapt is set, for those of which no loss is told. 0: not known.
  RepeatControl(const MetOptions& options, std::vector<uint32_t> learnt);

  // The next mini-epoch of the run begins.
  void BeginMiniEpoch() { BeginMiniEpoch(next_); }
  // That of a run which goes on after a restart: its number in the run, from 0.
  void BeginMiniEpoch(uint64_t number);
  // A loss of the job; less is better. NaN and infinities count as no better.
  void Feedback(double loss);
  // `done` repetitions (>= 1) of the mini-epoch were shown, a restart
  // regardless. Whether it is shown once more. `next_ready`: the next one is in
  // the tier. May be asked again of the same repetition.
  bool Again(uint64_t done, bool next_ready);

  // The most that any mini-epoch is repeated: 1 where met.epochs is not known.
  uint64_t most() const { return most_; }
  // Factors of the mini-epochs that ended, of former runs too: where met.adapt
  // is set, and a loss was told.
  const std::vector<uint32_t>& learnt() const { return learnt_; }
  // Why the last answer was what it was, or what rules, in some words.
  const std::string& why() const { return why_; }

 private:
  struct Answer {
    bool again;
    std::string why;
  };
  Answer Decide(uint64_t done, bool next_ready) const;
  Answer DecideWithoutLoss(uint64_t done) const;
  Answer DecideByLoss() const;
  uint64_t LearntFactor() const;  // of this mini-epoch; 0: not known
  bool IsBelowBand(double loss) const;
  void EndRepetition(uint64_t done);
  void Learn(uint64_t factor);

  const MetOptions options_;
  const uint64_t most_;
  std::vector<uint32_t> learnt_;
  uint64_t mini_epoch_ = 0;    // number in this run, from 0
  uint64_t next_ = 0;          // that of the next one
  std::deque<double> scores_;  // the last met.scores, of any mini-epoch

  // Of this mini-epoch.
  double best_ = std::numeric_limits<double>::infinity();
  uint64_t told_ = 0;     // losses
  uint64_t counted_ = 0;  // repetitions that stale_ knows
  uint64_t stale_ = 0;    // repetitions without a better loss
  bool better_ = false;   // since the last repetition ended
  bool below_ = false;    // a loss left the band downwards
  std::string why_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_REPEAT_CONTROL_H_
