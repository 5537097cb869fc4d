// SPDX-License-Identifier: Apache-2.0
// When to go on from a mini-epoch to the next: the repeating factor of met,
// fixed, as small as the copying allows, or by what the job tells of its loss.
#ifndef SHUFFLEFS_POLICIES_REPEAT_CONTROL_H_
#define SHUFFLEFS_POLICIES_REPEAT_CONTROL_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/policy.h"

namespace shufflefs {

// A small state machine without I/O, threads or clocks. Not thread-safe.
class RepeatControl {
 public:
  // met.repeat = auto repeats no more often than this.
  static constexpr uint64_t kMostByItself = 8;

  // `learnt`: the factors of a former run, by mini-epoch in their order, used
  // where met.adapt is set, for those of which no loss is told.
  RepeatControl(const PolicyOptions& options, std::vector<uint32_t> learnt);

  // The next mini-epoch of the run begins. `resumed` repetitions of it were
  // shown before a restart.
  void BeginMiniEpoch();
  // A loss of the job; less is better. NaN and infinities count as no better.
  void Feedback(double loss);
  // `done` repetitions (>= 1) of the mini-epoch were shown. Whether it is
  // shown once more. `next_ready`: the next one is in the tier.
  bool Again(uint64_t done, bool next_ready);

  // The most that any mini-epoch is repeated: 1 where met.epochs is not known.
  uint64_t most() const { return most_; }
  // Factors of the mini-epochs that ended, of former runs too.
  const std::vector<uint32_t>& learnt() const { return learnt_; }
  // Why the last answer was what it was, or what rules, in some words.
  const std::string& why() const { return why_; }

 private:
  bool Decide(uint64_t done, bool next_ready);
  bool ScoreSaysGoOn() const;
  bool BandSaysGoOn() const;

  const PolicyOptions options_;
  const uint64_t most_;
  std::vector<uint32_t> learnt_;
  uint64_t mini_epoch_ = 0;  // of this run, counted from 1
  std::deque<double> scores_;  // the last met.scores
  double best_ = 0;            // of this mini-epoch
  uint64_t told_ = 0;          // losses of this mini-epoch
  uint64_t stale_ = 0;         // repetitions without a better one
  bool better_ = false;        // since the last repetition ended
  bool below_ = false;         // the last loss left the band downwards
  std::string why_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_REPEAT_CONTROL_H_
