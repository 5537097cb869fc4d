// SPDX-License-Identifier: Apache-2.0
// EpochGroup and GroupedView let the daemons of several nodes agree on the
// epochs of a view. A node of a job opens only a share of the names, so no
// daemon alone can see that an epoch ends. The group sees the opens of all
// nodes. It tells each daemon's view when the next epoch begins, and what is
// retained in it. So all nodes show one bijection.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_GROUP_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_GROUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/epoch/open_tracker.h"

namespace shufflefs {

// Thread-safe. Outlives the view.
class EpochGroup {
 public:
  struct Open {
    uint64_t name = 0;
    uint64_t sample = 0;   // that it shows
    uint32_t reader = 0;   // thread, 0 = hidden
    uint32_t job = 0;      // as JobSequence counts them
    bool foreign = false;  // as JobSequence says
  };

  virtual ~EpochGroup() = default;

  // A name was opened. Called with the view's lock held, in the order of the
  // opens. Never blocks.
  virtual void Opened(const Open& open) = 0;
  // The user ends the epoch on all nodes. `epoch`: the number that the next one
  // gets; 0: one more than now. Called without the view's lock. Blocks until
  // the view shows it, for some seconds at most. Unavailable names who is
  // missing.
  virtual absl::Status Signal(uint64_t epoch) = 0;
  // Keys of the view were written on this node: has the others take them over.
  // `settings`: one `key = value` a line. Called without the view's lock.
  // Blocks until all members that have joined did so, for half a minute at
  // most. Unavailable names one that cannot; then nothing changes on any node.
  virtual absl::Status Switch(const std::string& settings) = 0;
  // Why epochs do not move, for people, or "".
  virtual std::string Warning() const = 0;
};

// What a group asks of a view. The thread of the group calls it, one call at a
// time, without locks. Calls may block as a watched open does.
class GroupedView {
 public:
  struct Pair {
    uint64_t name = 0;
    uint64_t sample = 0;
  };
  // What decides which samples names show.
  enum class Names {
    kPlanned,  // the policy's plan, which all nodes know
    kOwn,      // names show their own, until the nodes have agreed who they are
    kShared,   // each name has an owner among the nodes (SharedNames)
  };
  struct State {
    uint64_t epoch = 0;    // its number; held boundaries count
    uint64_t shown = 0;    // the epoch whose order names show
    uint64_t binding = 0;  // hash of what names show
    uint64_t wanted = 0;   // hash of the keys of the next epoch
    uint64_t keys = 0;     // the same of this epoch
    Names names = Names::kPlanned;
    bool fresh = false;  // nothing of the epoch was shown here
  };
  struct Next {
    uint64_t epoch = 0;
    std::string reason{};              // the verdict or, if held, why
    std::vector<uint64_t> retained{};  // names that keep their samples
    // Names that were opened on this node in the epoch that begins.
    std::vector<uint64_t> opened{};
    // The samples that the retained names keep, if no plan says that.
    std::vector<Pair> pairs{};
    // The nodes that share the epoch, ordered, and which of them this is.
    std::vector<std::string> members{};
    std::string self{};
  };
  // What an epoch has retained.
  struct Retained {
    std::vector<Pair> pairs;
    // If names are shared: by whom, and who this node is.
    std::vector<std::string> members{};
    std::string self{};
    // What other nodes know of names that this node owns, after a restart, and
    // whether all of them said so.
    std::vector<Pair> told{};
    bool told_all = false;
  };

  virtual ~GroupedView() = default;

  // Returns whether the group decides about the view's epochs.
  virtual bool IsGrouped() const = 0;
  // How the view's epochs are found. Changes when its keys do.
  virtual OpenTracker::Options GroupOptions() const = 0;
  virtual State GroupState() const = 0;
  // What this epoch has retained.
  virtual Retained RetainedNow() const = 0;
  // What this node knows of names that `member` owns, if names are shared.
  virtual std::vector<Pair> KnownOf(const std::string& member) const = 0;
  // The names that were opened in this epoch, with what they show.
  virtual std::vector<Pair> OpenedHere() const = 0;
  // From now on lookups and opens wait, until one of the next three. Returns
  // names that threads were told of and have not opened yet.
  virtual std::vector<Pair> CloseEpoch() = 0;
  virtual void ReopenEpoch() = 0;
  virtual void BeginEpoch(const Next& next) = 0;
  // Another node shows `state`, with `retained`.
  virtual void AdoptEpoch(const State& state, const Retained& retained) = 0;
  // Names keep what they show, and the epoch is counted.
  virtual void HoldEpoch(const Next& next) = 0;
  // The epoch may end soon: every walk to a name has to be a lookup.
  virtual void ShowWalks() = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_GROUP_H_
