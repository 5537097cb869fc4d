// SPDX-License-Identifier: Apache-2.0
// Finds the boundaries of epochs in the opens of a view.
//
// Late is safe, early is not: while the names keep their bijection every pass
// of every reader gets each sample once, whatever the detector believes. So it
// may wait, may carry too many names over and may refuse to re-bind; it never
// re-binds in the middle of a pass that it can see.
//
// The first family of processes that opens a name owns the epochs; opens of
// other families, guests, move nothing. An open of the owner is fresh (first
// of the name in this epoch), a re-open, a stray re-open (the name's second
// since the supposed start of a new pass) or a double open. The first re-open
// makes a candidate: the supposed start of the next pass. Three rules end an
// epoch:
//   a  every name was opened, and then enough re-opens came;
//   b  nearly as many names as expected were opened, then fresh opens ceased;
//   c  fresh opens ceased earlier than that: something ended, unexplained;
//   t  the owner's processes are all gone and another family opens.
// The verdict is to re-bind, or to hold: count the epoch, keep the bijection.
// Below 64 names only rules a and t apply.
//
// A pure state machine: time, families and their liveness are inputs. Not
// thread-safe; the view's lock guards it. Memory: 2 bits a name and about
// 300 KiB. O(1) an open; a boundary costs names/8 bytes of clearing and one
// walk over at most 8192 logged opens.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_DETECTOR_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_DETECTOR_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/base/name_bits.h"
#include "core/binding/resumed_names.h"
#include "core/epoch/detector_windows.h"
#include "core/epoch/epoch_outcome.h"
#include "core/epoch/open_log.h"
#include "core/epoch/pass_lengths.h"
#include "core/epoch/recency_ring.h"
#include "core/readers/family_id.h"

namespace shufflefs {

class EpochDetector {
 public:
  struct Options {
    uint64_t names = 0;
    uint64_t epoch_length = 0;  // names a pass, 0 = not known
    uint32_t pad = 8;           // re-opens that may be padding
    std::chrono::milliseconds double_open{10000};
  };

  struct Open {
    uint64_t name = 0;  // < Options::names
    FamilyId family = kHiddenFamily;
    uint32_t reader = 0;  // process or thread id, 0 = hidden
    std::chrono::milliseconds time{0};
  };

  // Whether a process of `family` still exists. Called only when a family
  // that is not the owner opens, and for guests at a boundary.
  using Alive = absl::FunctionRef<bool(FamilyId)>;

  explicit EpochDetector(const Options& options);

  // Takes note of an OPEN. Until it answers with kRebind, every name keeps
  // the sample it has; from then on names outside `carried` have new ones.
  EpochOutcome OnOpen(const Open& open, Alive alive);

  // The user ended the epoch. Forgets what was learnt. The verdict is kRebind
  // with nothing carried, or kNone if nothing was opened since the last one.
  EpochOutcome OnSignal();

  // Continues an epoch (from the ledger, after a crash). REQUIRES: no open yet;
  // names in range.
  struct Past {
    std::vector<uint64_t> seen;  // names that were opened, whenever
    // Re-opens after these and before the replayed ones, of unknown names.
    uint64_t stray = 0;
    bool began_unexplained = false;  // with rule c
  };
  void Restore(const Past& past);
  // Then each of the last opens in its order, as it was classified.
  void Replay(uint64_t name, OpenClass open_class);
  // The same for a job that goes on from a checkpoint: `known` names were
  // opened, and `unknown` more, some of which it may open again (see
  // core/binding/resumed_names.h). How the epoch ends teaches nothing.
  void Resume(absl::Span<const uint64_t> known, uint64_t unknown);

  // Names opened in this epoch, and whether one was.
  uint64_t seen_count() const { return seen_count_; }
  // With those that were opened before the job went on with it.
  uint64_t opened_count() const { return seen_count_ + resumed_.count(); }
  bool seen(uint64_t name) const { return seen_.Get(name); }
  // Whether the next opens may bring a verdict to re-bind by a rule that looks
  // at what was opened (a or b). True before the last names of a pass that is
  // as long as expected are opened: nothing of the next one has begun then.
  bool MayEndSoon() const;
  // Whether the next open of another family would take the epochs over.
  bool IsLeft(Alive alive) const;
  // Names a pass is expected to open: configured, learnt, or all.
  uint64_t expected() const { return lengths_.expected(); }
  // Calls visit(name) for each name opened in this epoch, in rising order.
  // After a verdict: those that the new epoch has already opened.
  template <typename Visit>
  void ForEachSeen(Visit&& visit) const {
    seen_.ForEach(visit);
  }
  // The same for those that were opened before the epoch was resumed and not
  // since, as far as they are known.
  template <typename Visit>
  void ForEachResumed(Visit&& visit) const {
    resumed_.ForEachKnown(visit);
  }
  uint64_t unknown_count() const { return resumed_.unknown(); }

 private:
  // What is counted within one epoch.
  struct Counters {
    uint64_t candidate = 0;       // S: life left of the candidate, 0 = none
    uint64_t start = 0;           // its first open
    uint64_t covered = 0;         // names seen before it
    uint64_t near_threshold = 0;  // fresh opens that count as ceased
    uint64_t far_threshold = 0;
    uint64_t pending = 0;         // names re-opened since start
    uint64_t after_complete = 0;  // re-opens after every name was seen
    uint64_t stray = 0;
    uint64_t fresh_end = 0;  // position after the last fresh open
  };

  // Where the new pass began and what of it the log still holds.
  struct Boundary {
    uint64_t carry_from = 0;  // first open whose name is carried
    uint64_t pass_from = 0;   // first open of the new pass
    bool overflow = false;
    bool clean = false;  // rule a, and no re-open came before completion
  };

  EpochOutcome OnOwnerOpen(const Open& open, Alive alive);
  EpochOutcome TakeOver(const Open& open, Alive alive);
  // Whether a guest has opened so much more than an owner that hardly opened
  // anything (a preview, a benchmark of one file), that the epochs are its.
  bool OutreadsOwner(const Open& open);
  // Makes that guest the owner: what it opened so far counts. Gives the names
  // that are opened in this epoch by it.
  std::vector<uint64_t> TakeOwnership(const Open& open);
  OpenClass Classify(const Open& open) const;
  // The first open of a name in this epoch, or since it was resumed.
  void CountFirst(uint64_t name, uint64_t position);
  void CountFresh(uint64_t name, uint64_t position);
  void EndResumed();
  void CountReopen(uint64_t name, uint64_t position);
  void DismissCandidate();
  bool Complete();
  char TestWindows() const;  // 'b', 'c' or 0
  void NoteGuest(FamilyId family);
  bool GuestAlive(Alive alive) const;

  EpochOutcome Declare(char rule, OpenClass open_class, uint64_t name,
                       Alive alive);
  Boundary FindBoundary(char rule) const;
  HoldReason WhyHold(char rule, const Boundary& boundary, Alive alive) const;
  std::vector<uint64_t> NamesFrom(uint64_t position) const;
  void Learn(char rule, const Boundary& boundary, HoldReason hold,
             uint64_t carried);
  // Begins the next epoch with the pending names and the logged opens of the
  // new pass as seen.
  void BeginEpoch(char rule, uint64_t pass_from);

  // Constant after construction.
  const Options options_;
  const uint64_t enough_;          // m: re-opens before a window is tested
  const uint64_t padding_;         // m_A
  const uint64_t candidate_life_;  // S of a new candidate
  const uint64_t small_takeover_;  // opens below which an owner left no pass
  const uint64_t soon_;            // names of a pass that are its end

  PassLengths lengths_;
  NameBits seen_;
  ResumedNames resumed_;
  bool is_resumed_ = false;  // this epoch
  NameBits pending_;
  // An eighth of a pass: more, and the first re-opens of the next pass would
  // pass for double opens.
  RecencyRing ring_;
  OpenLog log_;
  DetectorWindows windows_;
  Counters now_;
  uint64_t seen_count_ = 0;
  uint64_t epoch_from_ = 0;         // position of the epoch's first open
  bool began_unexplained_ = false;  // the epoch began with rule c

  bool owned_ = false;
  FamilyId owner_;
  uint64_t owner_opens_ = 0;
  bool owner_passed_ = false;  // ended an epoch by a pass of its own
  absl::flat_hash_set<FamilyId> guests_;  // at most 64
  bool more_guests_ = false;
  // The last guest while the owner has hardly opened anything, and what it
  // opened: at most 2 * small_takeover_ names.
  FamilyId rival_;
  std::vector<uint64_t> rival_names_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_DETECTOR_H_
