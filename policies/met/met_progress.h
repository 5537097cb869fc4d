// SPDX-License-Identifier: Apache-2.0
// The order in which met shows samples: which one of a group is shown next.
//
// A pass goes over all samples in mini-epochs (policies/met/met_pass.h); each
// of these is shown as often as RepeatControl says, every repetition in an
// order of its own. Each group goes along by itself, as its names are asked
// for, so that groups pass from one mini-epoch to the next at about the same
// time but never wait for each other.
//
// Guarantee: over met.epochs draws a sample on average, each sample of a group
// is drawn met.epochs times. It holds whatever the repeating factors were, and
// whatever was shown out of turn: a sample that has had its share is passed.
// For one that is shown beyond its share, and for a name that an epoch did not
// ask for, another sample of the group comes once less, each time a new one:
// else the last mini-epoch would lack them all.
//
// Memory: 12 bytes a sample, 16 with the next pass, and some 50 a group. Cost
// of a draw: O(1) on average, of a new pass some 20 ns a sample.
#ifndef SHUFFLEFS_POLICIES_MET_MET_PROGRESS_H_
#define SHUFFLEFS_POLICIES_MET_MET_PROGRESS_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "core/policy/binder.h"
#include "core/policy/policy.h"
#include "core/random/random.h"
#include "policies/met/met_pass.h"
#include "policies/met/repeat_control.h"

namespace shufflefs {

// Not thread-safe. No I/O, threads or clocks.
class MetProgress {
 public:
  // `input` outlives it; its grouping has at least one sample.
  MetProgress(const MetOptions& options, const BinderInput& input);

  // Mini-epochs of a pass: what met.mini_epochs says or, if nothing,
  // MiniEpochsInTier (core/policy/mini_epoch_count.h).
  static uint32_t MiniEpochsFor(const MetOptions& options,
                                const BinderInput& input);

  // Before any draw, or anew: with random bits of `seed`, as often as `served`
  // says each sample having been shown.
  void Restart(Seed seed, Epoch epoch, std::vector<uint32_t> served);

  // The sample of `group`, which has some, that is shown next. Counts it.
  uint32_t Draw(uint32_t group);
  // One is shown out of turn, or was drawn and then not shown.
  void Serve(uint32_t sample);
  void TakeBack(uint32_t sample);
  // An epoch asked for so many names of the group less than there are.
  void Skip(uint32_t group, uint64_t names);
  const std::vector<uint32_t>& served() const { return served_; }
  // Whether the group draws from a mini-epoch that is in the tier.
  bool DrawsReady(uint32_t group) const;

  // As of MiniEpochs.
  std::vector<uint64_t> WantedSets() const;
  std::vector<SampleId> SamplesOf(uint64_t set) const;
  void SetReady(uint64_t set);
  uint64_t wishes() const { return wishes_; }
  void Feedback(double loss) { control_.Feedback(loss); }
  const std::vector<uint32_t>& learnt() const { return control_.learnt(); }
  MiniEpochStatus status() const;

 private:
  // A mini-epoch is numbered by its pass and its place there, over a run.
  struct MiniEpoch {
    uint64_t size = 0;     // samples of groups that are read
    uint64_t inside = 0;   // groups that draw from it
    uint64_t left = 0;     // samples of the groups that are through with it
    uint64_t allowed = 1;  // repetitions that it has for certain
    bool closed = false;   // and not one more
    std::vector<uint64_t> ended;  // by repetition: samples of groups at its end
  };
  struct Place {
    uint64_t number = 0;  // of the mini-epoch
    uint64_t repetition = 1;
    uint32_t at = 0;     // of its share, what is drawn next
    bool drew = false;   // something, in this repetition
    bool begun = false;  // is read: `number` is one of mini_epochs_
  };

  uint64_t PassOf(uint64_t number) const { return number / count_; }
  uint32_t IndexOf(uint64_t number) const {
    return static_cast<uint32_t>(number % count_);
  }
  // What a stager calls a mini-epoch: where one holds all, all are the same.
  uint64_t SetOf(uint64_t number) const { return count_ == 1 ? 0 : number; }
  bool Ready(uint64_t number) const { return ready_.contains(SetOf(number)); }
  absl::Span<uint32_t> ShareOf(uint32_t group);
  uint64_t Left(uint32_t group, uint32_t sample) const;
  // A sample of the group that has something left, if there is one, and has
  // not done so in these met.epochs, comes once less. False if there is none.
  bool GiveWay(uint32_t group);
  bool MayGiveWay(uint32_t group, uint32_t sample) const;
  // For those that came more often than their share before Restart.
  void GiveWayForServed(uint32_t group);

  // A group that is read for the first time, or for the first time in long,
  // begins where most are.
  void Join(uint32_t group);
  // One that is not read any more holds nothing up.
  void DropStragglers();
  // Samples of a mini-epoch in groups that are read.
  uint64_t SizeOf(uint64_t number) const;
  enum class How { kInTurn, kJoins };
  void Enter(uint32_t group, uint64_t number, How how);
  void Raise(uint32_t group);
  // A group with so many samples of it is through with it.
  void Leave(uint64_t number, uint64_t share);
  // Whether it need not be kept for those groups that still draw from it.
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

  // Constant after construction, but for the control.
  const BinderInput& input_;
  const uint32_t count_;  // mini-epochs of a pass
  const uint64_t cycle_;  // met.epochs, or 1
  RepeatControl control_;
  const uint64_t fixed_;  // the factor, or 0 where it is found

  RandomKey key_{0};
  std::vector<bool> staged_;      // for the first pass alone
  std::vector<uint32_t> served_;  // by sample
  std::vector<uint64_t> target_;  // by group: what they are to come to
  std::vector<bool> gave_way_;    // by sample: comes once less than that
  std::vector<bool> all_gave_;    // by group: nobody is left who could
  Rng giving_{RandomKey{0}};      // draws who gives way
  std::vector<Place> places_;     // by group
  // By group, drawn before all else: what was passed over before.
  std::vector<std::vector<uint32_t>> owed_;
  std::map<uint64_t, MetPass> passes_;         // by number
  std::map<uint64_t, MiniEpoch> mini_epochs_;  // by number
  uint64_t first_ = 0;        // mini-epoch of this run of Restart
  uint64_t current_ = 0;      // that most of the samples' groups are in
  uint64_t furthest_ = 1;     // repetition of it
  std::set<uint64_t> ready_;  // sets
  uint64_t wishes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_PROGRESS_H_
