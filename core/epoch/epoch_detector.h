// SPDX-License-Identifier: Apache-2.0
// EpochDetector finds the boundaries of epochs in the opens of a view.
//
// Late is safe, early is not. While the names keep their bijection, every pass
// of every reader gets each sample once, whatever the detector believes. So the
// detector may wait, may retain too many names and may refuse to rebind. It
// never rebinds in the middle of a pass that it can see.
//
// The first job that opens a name owns the epochs. Other jobs are foreign:
// their opens move nothing. An open of the owner is one of these:
// * fresh: the first of the name in this epoch;
// * a re-open;
// * a stray re-open: the name's second since the supposed start of a new pass;
// * a double open.
//
// The first re-open makes a candidate: the supposed start of the next pass.
// These rules end an epoch:
//   a  every name was opened, and then enough re-opens came;
//   b  nearly as many names as expected were opened, then fresh opens ceased;
//   c  fresh opens ceased earlier than that: something ended, unexplained;
//   t  the owner's processes are all gone and another job opens.
// The verdict is to rebind or to hold. To hold is to count the epoch and keep
// the bijection. Below 64 names only rules a and t apply.
//
// A pure state machine: time, jobs and their liveness are inputs. Not
// thread-safe; the view's lock guards it. Memory: 2 bits per name and about 300
// KiB. Time: O(1) per open. A boundary clears names/8 bytes and walks once over
// at most 8192 logged opens.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_DETECTOR_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_DETECTOR_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/bitmap.h"
#include "core/binding/resumed_names.h"
#include "core/epoch/detector_windows.h"
#include "core/epoch/epoch_outcome.h"
#include "core/epoch/open_log.h"
#include "core/epoch/pass_lengths.h"
#include "core/epoch/recency_ring.h"
#include "core/readers/job_id.h"

namespace shufflefs {

class EpochDetector {
 public:
  struct Options {
    uint64_t names = 0;
    uint64_t epoch_length = 0;  // names per pass, 0 = not known
    uint32_t pad = 8;           // this many re-opens may be padding
    std::chrono::milliseconds double_open{10000};
    // A pass may leave out a name or two without harm to the next one, because
    // the boundary keeps a few more names than it must.
    bool may_leave_out = true;
  };

  struct Open {
    uint64_t name = 0;  // < Options::names
    JobId job = kHiddenJob;
    uint32_t reader = 0;  // process or thread id, 0 = hidden
    std::chrono::milliseconds time{0};
    // The job may have begun before this process did. Used while
    // owner_is_unknown().
    bool older = false;
  };

  // Returns whether a process of `family` still exists. The detector asks only
  // when a job that is not the owner opens, and about foreign jobs at a
  // boundary.
  using Alive = absl::FunctionRef<bool(JobId)>;

  explicit EpochDetector(const Options& options);

  // Notes an OPEN. Until it returns kRebind, every name keeps its sample. From
  // then on, names outside `retained` have new ones.
  EpochOutcome OnOpen(const Open& open, Alive alive);

  // Returns whether every name was opened, the last after `position`, none was
  // opened again since, and `open` would be the owner's first of the next pass.
  // Notes nothing. For a lookup, before anybody opens what it finds.
  bool IsPassOver(const Open& open, uint64_t position) const;
  // Ends the epoch because of such a lookup, by rule a.
  // REQUIRES: IsPassOver.
  EpochOutcome EndPass(Alive alive);

  // The user ended the epoch. Forgets what was learnt. The verdict is kRebind
  // with nothing retained, or kNone if nothing was opened since the last
  // boundary.
  EpochOutcome OnSignal();

  // Continues an epoch (from the ledger, after a crash). REQUIRES: no open was
  // noted yet; names are in range.
  struct Past {
    std::vector<uint64_t> seen;  // names that were opened at any time
    // Re-opens after `seen` and before the replayed opens. Their names are
    // unknown.
    uint64_t stray = 0;
    bool began_unexplained = false;  // the epoch began with rule c
    bool owner_unknown = false;      // its jobs read before this process began
  };
  void Restore(const Past& past);
  // Call it after Restore, for each of the last opens in order, with the class
  // that it had.
  void Replay(uint64_t name, OpenClass open_class);
  // The same for a job that continues from a checkpoint. `known` names were
  // opened, and `unknown` more. The job may open some of these again, and opens
  // again what is `due` (see core/binding/resumed_names.h). How the epoch ends
  // teaches nothing.
  void Resume(absl::Span<const uint64_t> known, uint64_t unknown,
              absl::Span<const uint64_t> due = {});
  // The names that were opened last, and the reverse: takes them over from the
  // detector that this one replaces. The job may open them once more.
  std::vector<uint64_t> Recent() const;
  void KeepRecent(absl::Span<const uint64_t> names);
  // It is not known which names the job opens again. So a pass that seems to
  // end with the last name of all may end later.
  void DoubtStart() { start_unknown_ = true; }

  // The epoch was restored in its middle, and the job that read it has not
  // opened since. Others do not end its pass.
  bool owner_is_unknown() const { return owner_unknown_; }

  // Number of names opened in this epoch, and whether `name` is one of them.
  uint64_t seen_count() const { return seen_count_; }
  // Includes names that were opened before the job continued the epoch.
  uint64_t opened_count() const { return seen_count_ + resumed_.count(); }
  bool seen(uint64_t name) const { return seen_.Get(name); }
  // Returns whether one of the next opens may bring a verdict to rebind by a
  // rule that looks at opened names (a or b). It becomes true before the last
  // names of a pass of the expected length are opened. At that time nothing of
  // the next pass has begun.
  bool MayEndSoon() const;
  // Opens are reported late, so MayEndSoon becomes true earlier.
  void ExpectLateOpens();
  // That was not early enough.
  void LookFurtherAhead();
  // Number of opens by owners of the epochs so far.
  uint64_t position() const { return log_.next(); }
  // Returns whether the next open of another job would take over the epochs.
  bool IsLeft(Alive alive) const;
  // Number of names that a pass is expected to open: configured, learnt, or
  // all.
  uint64_t expected() const { return lengths_.expected(); }
  // Calls visit(name) for each name opened in this epoch, in rising order.
  // After a verdict these are the names that the new epoch has already opened.
  template <typename Visit>
  void ForEachSeen(Visit&& visit) const {
    seen_.ForEach(visit);
  }
  // The same for names that were opened before the epoch was resumed and not
  // since. Visits only those that are known.
  template <typename Visit>
  void ForEachResumed(Visit&& visit) const {
    resumed_.ForEachKnown(visit);
  }
  uint64_t unknown_count() const { return resumed_.unknown(); }

 private:
  // The counters of one epoch.
  struct Counters {
    uint64_t candidate = 0;  // S: remaining life of the candidate, 0 = none
    uint64_t start = 0;      // first open of the candidate
    uint64_t covered = 0;    // names seen before it
    uint64_t near_threshold = 0;  // at or below: fresh opens have ceased
    uint64_t far_threshold = 0;
    uint64_t pending = 0;         // names re-opened since `start`
    uint64_t after_complete = 0;  // re-opens after every name was seen
    uint64_t stray = 0;
    uint64_t fresh_end = 0;  // position after the last fresh open
  };

  // Where the new pass began, and how much of it the log still holds.
  struct Boundary {
    uint64_t retained_from = 0;  // first open whose name is retained
    uint64_t pass_from = 0;      // first open of the new pass
    bool overflow = false;
    bool clean = false;  // rule a, and no re-open before completion
  };

  EpochOutcome OnOwnerOpen(const Open& open, Alive alive);
  EpochOutcome TakeOver(const Open& open, Alive alive);
  // Returns whether a foreign job takes over the epochs because it opened far
  // more than the owner. This needs an owner that hardly opened anything, such
  // as a preview or a benchmark of one file.
  bool OutreadsOwner(const Open& open);
  // Makes that foreign job the owner: its opens so far count. Returns the names
  // that this opens in the epoch.
  std::vector<uint64_t> TakeOwnership(const Open& open, Alive alive);
  OpenClass Classify(const Open& open) const;
  // Counts the first open of a name in this epoch, or since it was resumed.
  void CountFirst(uint64_t name, uint64_t position);
  void CountFresh(uint64_t name, uint64_t position);
  void EndResumed();
  void CountReopen(uint64_t name, uint64_t position);
  void DismissCandidate();
  bool Complete();
  char TestWindows() const;  // returns 'b', 'c' or 0
  void NoteForeignJob(JobId job, Alive alive);
  bool ForeignJobAlive(Alive alive) const;

  // `name`: whose open showed it, if one did.
  EpochOutcome Declare(char rule, OpenClass open_class,
                       absl::optional<uint64_t> name, Alive alive);
  uint64_t Doubtful() const;
  Boundary FindBoundary(char rule) const;
  HoldReason WhyHold(char rule, const Boundary& boundary, Alive alive) const;
  std::vector<uint64_t> NamesFrom(uint64_t position) const;
  void Learn(char rule, const Boundary& boundary, HoldReason hold,
             uint64_t retained);
  // Begins the next epoch. The pending names and the logged opens of the new
  // pass count as seen.
  void BeginEpoch(char rule, uint64_t pass_from);

  // Constant after construction.
  const Options options_;
  const uint64_t enough_;          // m: re-opens needed to test a window
  const uint64_t padding_;         // m_A
  const uint64_t candidate_life_;  // S of a new candidate
  const uint64_t small_takeover_;  // an owner with fewer opens left no pass

  uint64_t soon_;  // length of the end of a pass, in names
  bool expects_late_opens_ = false;
  PassLengths lengths_;
  Bitmap seen_;
  ResumedNames resumed_;
  bool is_resumed_ = false;  // in this epoch
  Bitmap pending_;
  // An eighth of a pass. If it were longer, the first re-opens of the next pass
  // would be taken for double opens.
  RecencyRing ring_;
  OpenLog log_;
  DetectorWindows windows_;
  Counters now_;
  uint64_t seen_count_ = 0;
  uint64_t epoch_from_ = 0;         // position of the epoch's first open
  bool began_unexplained_ = false;  // the epoch began with rule c
  // It is not known where the owner's passes begin. A reader of a fixed order
  // would have opened every name for the first time just in the middle of one.
  bool start_unknown_ = false;

  bool owned_ = false;
  bool owner_unknown_ = false;
  JobId owner_;
  uint64_t owner_opens_ = 0;
  bool owner_passed_ = false;  // it ended an epoch by a pass of its own
  absl::flat_hash_set<JobId> foreign_jobs_;  // at most 64
  bool more_foreign_jobs_ = false;
  // The last foreign job while the owner has hardly opened anything, and the
  // names that this foreign job opened: at most 2 * small_takeover_.
  JobId candidate_;
  std::vector<uint64_t> candidate_names_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_DETECTOR_H_
