// SPDX-License-Identifier: Apache-2.0
// MetProgress is the order in which met shows samples. It says which sample of
// a group is shown next.
//
// A pass goes over all samples in mini-epochs (policies/met/met_pass.h). Each
// mini-epoch is shown as often as RepeatControl says, and every repetition has
// its own order. Each group advances by itself, as readers ask for its names.
// So groups move from one mini-epoch to the next at about the same time, but
// never wait for each other.
//
// Guarantee: over an average of met.epochs draws per sample, each sample of a
// group is drawn met.epochs times. This holds whatever the repeating factors
// were and whatever was shown out of turn: a sample that had its share is
// skipped (policies/met/met_shares.h).
//
// Memory: 12 bytes per sample, 16 with the next pass, and some 50 per group.
// Cost of a draw: O(1) on average; of a new pass: some 20 ns per sample.
#ifndef SHUFFLEFS_POLICIES_MET_MET_PROGRESS_H_
#define SHUFFLEFS_POLICIES_MET_MET_PROGRESS_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/policy/binder.h"
#include "core/policy/policy.h"
#include "core/random/random.h"
#include "policies/met/met_pass.h"
#include "policies/met/met_shares.h"
#include "policies/met/repeat_control.h"

namespace shufflefs {

// Not thread-safe. No I/O, threads or clocks.
class MetProgress {
 public:
  // `input` outlives this object. Its grouping has at least one sample.
  MetProgress(const MetOptions& options, const BinderInput& input);

  // The number of mini-epochs per pass: met.mini_epochs or, if that is not set,
  // MiniEpochsInTier (core/policy/mini_epoch_count.h).
  static uint32_t MiniEpochsFor(const MetOptions& options,
                                const BinderInput& input);

  // Starts, or starts anew, with random bits of `seed`. `served` says how often
  // each sample was shown before. Call it before any Draw.
  void Restart(Seed seed, Epoch epoch, std::vector<uint32_t> served);

  // The sample of `group` that is shown next. Counts it. REQUIRES: the group
  // has samples.
  uint32_t Draw(uint32_t group);
  // As in MetShares.
  void Serve(uint32_t sample) { shares_.Serve(sample); }
  void TakeBack(uint32_t sample) { shares_.TakeBack(sample); }
  void Skip(uint32_t group, uint64_t names) { shares_.Skip(group, names); }
  const std::vector<uint32_t>& served() const { return shares_.served(); }
  // Returns whether the group draws from a mini-epoch that is in the tier.
  bool DrawsReady(uint32_t group) const;
  // Returns whether the next Draw will draw from such a mini-epoch.
  bool NextIsReady(uint32_t group) const;
  // A number of the repetition that the group drew from last. No other
  // repetition has it, nor what is still owed of an earlier met.epochs, which
  // comes before.
  uint64_t TurnOf(uint32_t group) const;

  // As in MiniEpochs.
  std::vector<uint64_t> WantedSets() const;
  std::vector<SampleId> SamplesOf(uint64_t set) const;
  void SetReady(uint64_t set);
  uint64_t requests_version() const { return requests_version_; }
  void Feedback(double loss) { control_.Feedback(loss); }
  const std::vector<uint32_t>& learnt() const { return control_.learnt(); }
  MiniEpochStatus status() const;

 private:
  // The number of a mini-epoch consists of its pass and its place there, over a
  // run.
  struct MiniEpoch {
    uint64_t size = 0;            // samples of groups that are read
    uint64_t inside = 0;          // groups that draw from it
    uint64_t left = 0;            // samples of the groups that have finished it
    uint64_t allowed = 1;         // repetitions that it has for certain
    bool closed = false;          // `allowed` will not grow any more
    std::vector<uint64_t> ended;  // by repetition: samples of groups at its end
  };
  struct Place {
    uint64_t number = 0;  // of the mini-epoch
    uint64_t repetition = 1;
    uint32_t at = 0;     // in its share, the next to draw
    bool drew = false;   // something, in this repetition
    bool owed = false;   // the last one drawn is of owed_
    bool begun = false;  // is read: `number` is one of mini_epochs_
  };

  uint64_t PassOf(uint64_t number) const { return number / count_; }
  uint32_t IndexOf(uint64_t number) const {
    return static_cast<uint32_t>(number % count_);
  }
  // The number by which a stager knows a mini-epoch. If one mini-epoch holds
  // all samples, all have the same.
  uint64_t SetOf(uint64_t number) const { return count_ == 1 ? 0 : number; }
  bool Ready(uint64_t number) const { return ready_.contains(SetOf(number)); }
  absl::Span<uint32_t> ShareOf(uint32_t group);

  // A group that is read for the first time, or for the first time in a long
  // while, begins where most groups are.
  void Join(uint32_t group);
  // Drops groups that are no longer read, so that they hold nothing up.
  void DropStragglers();
  // The samples of a mini-epoch in groups that are read.
  uint64_t SizeOf(uint64_t number) const;
  enum class How { kInTurn, kJoins };
  void Enter(uint32_t group, uint64_t number, How how);
  void Raise(uint32_t group);
  // A group that has `share` samples in the mini-epoch has finished it.
  void Leave(uint64_t number, uint64_t share);
  // Returns whether the mini-epoch need not be kept for the groups that still
  // draw from it.
  static bool Through(const MiniEpoch& mini);
  void Next(uint32_t group);
  void ShuffleShare(uint32_t group);
  void EndRepetition(uint32_t group);
  bool GoesOn(uint64_t number, uint64_t repetition);
  bool MustLeave(const Place& place) const;
  void MoveOn(uint64_t number);
  void Forget();
  void Compose(uint64_t pass);
  std::vector<uint32_t> Expected(uint64_t pass) const;

  // Constant after construction, except the control.
  const BinderInput& input_;
  const uint32_t count_;  // mini-epochs per pass
  const uint64_t cycle_;  // met.epochs, or 1
  RepeatControl control_;
  const uint64_t fixed_;  // the factor, or 0 if control_ finds it

  RandomKey key_{0};
  std::vector<bool> staged_;  // used for the first pass only
  MetShares shares_;
  std::vector<Place> places_;  // by group
  // By group: samples that were passed over before. Drawn before all others.
  std::vector<std::vector<uint32_t>> owed_;
  // By group: the last pass that began another met.epochs of it.
  std::vector<absl::optional<uint64_t>> raised_in_;
  std::map<uint64_t, MetPass> passes_;         // by number
  std::map<uint64_t, MiniEpoch> mini_epochs_;  // by number
  uint64_t first_ = 0;                         // first mini-epoch since Restart
  uint64_t current_ = 0;      // the one that most samples' groups are in
  uint64_t furthest_ = 1;     // repetition of current_
  std::set<uint64_t> ready_;  // sets
  uint64_t requests_version_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_PROGRESS_H_
