// SPDX-License-Identifier: Apache-2.0
// OpenTracker notes the lookups and opens of a view within an epoch. It knows
// which samples were consumed, and whether an open follows a lookup of this
// epoch. If the epoch's end is to be detected from opens, it knows when the
// epoch ends, and whether the client splits the names itself.
//
// If the kernel has a name cached, a stat of it sends no request. So before an
// epoch can end, every walk to a name is made a lookup (ShowWalks). From then
// on the tracker knows each name that a thread was told of and has not opened.
// Those names keep their sample over the boundary, so a file that is sized
// before it and opened after it is one file. The walks of a new pass are among
// these. They begin when the last file of the old pass has arrived, and that
// file is opened after walks are shown.
#ifndef SHUFFLEFS_CORE_EPOCH_OPEN_TRACKER_H_
#define SHUFFLEFS_CORE_EPOCH_OPEN_TRACKER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/bitmap.h"
#include "core/base/types.h"
#include "core/config/config.h"
#include "core/epoch/epoch_detector.h"
#include "core/epoch/epoch_lookups.h"
#include "core/epoch/split_suspicion.h"
#include "core/readers/job_tracker.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. Lookups need no lock: they call
// lookups(). Memory: 4 bits per sample. If the epoch advances by itself, the
// detector and the suspicion need theirs in addition.
class OpenTracker {
 public:
  struct Options {
    uint64_t samples = 0;
    uint32_t groups = 0;
    bool finds_epochs = false;  // epoch.advance = auto
    uint64_t epoch_length = 0;
    uint32_t epoch_pad = 8;
    std::chrono::milliseconds double_open{10000};
    bool may_leave_out = true;  // see EpochDetector::Options
    friend bool operator==(const Options&, const Options&) = default;
  };
  // `job_tracker` outlives the tracker.
  OpenTracker(const Options& options, JobTracker& job_tracker);

  // The notes of the live binding, or of the next one. BeginEpoch and
  // ForgetLookups replace them.
  const std::shared_ptr<EpochLookups>& lookups() const { return lookups_; }
  // Returns whether thread `reader` (0 = hidden) opens what a name shows in
  // this epoch. This is so if the sample was looked up in this epoch, or if
  // names were bound by a listing. But perhaps another thread looked it up, and
  // this thread walked to the file before the boundary. So no reader is
  // believed until the kernel was told (`told`), and no thread's first open is
  // believed soon after that. If it returns false, it believes the same
  // thread's next open: the kernel has looked up again, and does not ask a
  // third time.
  struct Walk {
    SampleId sample;
    uint32_t reader = 0;
    std::chrono::milliseconds now{0};
    bool told = true;
    // Shown in this epoch; else the sample is of an earlier one.
    bool is_shown = true;
  };
  bool TakeLookup(const Walk& walk);
  // Returns whether the view may still send back an open of `reader` that
  // TakeLookup has just believed. The kernel then looks up again. This is safe
  // if only the walk to the file told the thread of it, so that the thread has
  // not asked for the size.
  bool MaySendBack(uint32_t reader) const {
    return reader != 0 && !second_try_ && walks_ == 1;
  }
  // Sends that open back, while `name` is rebound. The second open is not
  // counted again.
  void SendBack(SampleId name, uint32_t reader);
  // The epoch ends: from now on no lookup is answered from it. Returns what
  // threads that were sent back have looked up since and will open. The kernel
  // does not ask a third time, so these names must keep what they show over the
  // boundary. Also returns what threads may have sized and not opened yet.
  std::vector<SampleId> TakeUnderWay() {
    return lookups_->CloseAndTakeUnderWay();
  }
  // This tracker replaces `before`.
  void TakeRetried(OpenTracker& before) {
    lookups_->TakeRetried(*before.lookups_);
  }
  // Returns whether walks are not shown yet, and one of the next opens may end
  // the epoch. Or readers end so soon that only a lookup shows whose they are.
  bool WalksAreDue() const;
  // The same when all earlier readers are gone and another process lists a
  // directory.
  bool WalksAreDueTo(std::chrono::milliseconds now) const;
  // From now on every walk to a name is a lookup, until names are rebound or
  // HideWalks. The open that made walks due must not be answered before the
  // kernel was told.
  void ShowWalks() { lookups_->ShowWalks(true); }
  // The same if they are due. Returns whether they were.
  bool ShowDueWalks() {
    const bool due = WalksAreDue();
    if (due) ShowWalks();
    return due;
  }
  // The epoch did not end with the pass: the kernel may use its cache again.
  // Returns whether walks were shown.
  bool HideWalks() {
    shown_from_.reset();
    return lookups_->ShowWalks(false);
  }
  bool shows_walks() const { return lookups_->shows_walks(); }
  // From now on opens come by reports (open_reports.h). Walks are then due
  // earlier.
  void ExpectReports();
  // The same as TakeLookup for a reported open, which cannot be sent back.
  // Returns whether it may be an open of this epoch. If not, it was walked to
  // in an earlier one.
  bool TakeReport(SampleId sample, uint32_t reader);
  // The sample was walked to in the last epoch and is shown in this one by the
  // same name, so its open may be reported yet.
  void NoteRetained(SampleId sample) { lookups_->TakeLookup(sample); }
  // The kernel was told to show walks, and then all opens reported until then
  // were noted. So every walk of the opens noted from now on was a lookup,
  // unless the walk began before: then it is of the pass that is not yet over.
  void NoteWalksShown();
  // Returns whether a pass that ended as `outcome` says may have begun before
  // its walks were lookups. Then a thread may be under way unknown, so names
  // must not be rebound.
  bool IsLate(const EpochOutcome& outcome) const;
  // Walks were shown too late: they are due earlier from now on.
  void ShowWalksEarlier();
  // From now on names may be bound by a listing.
  void NoteListed();
  // Returns whether binding by a listing helps. Every reader must be
  // identifiable, and walks must not be shown, because cached names would hide
  // them.
  bool may_list() const { return !hidden_readers_ && !shows_walks(); }

  struct Open {
    SampleId name;  // numbered by its own sample
    GroupId group;
    uint32_t reader = 0;  // thread id, 0 = hidden
    std::chrono::milliseconds now{0};
  };
  struct Seen {
    bool fresh = false;    // the first open of the name in this epoch
    EpochOutcome outcome;  // has a verdict if the epoch ended
    Suspicion suspicion = Suspicion::kNone;
  };
  Seen NoteOpen(const Open& open);
  // Returns whether a lookup of `name` by thread `reader` (0 = hidden) begins
  // the next pass: every name was opened, walks are shown, nothing was opened
  // again yet, and the owner's job asks for a name that it did not just open.
  bool IsPassOver(SampleId name, uint32_t reader,
                  std::chrono::milliseconds now) const;
  // That lookup ends the epoch. The result has a verdict.
  Seen EndPass(std::chrono::milliseconds now);

  // The user ended the epoch. Returns what its opens are a sign of.
  Suspicion Signal();
  // Names are rebound. Keeps what the detector reports as already opened in the
  // new epoch, and empties the rest.
  void BeginEpoch();
  // The epoch is counted and names are not rebound. `opened`: names that were
  // opened in the next one already. REQUIRES: finds_epochs is false.
  void BeginPass(const std::vector<uint64_t>& opened);
  // Names are rebound, but the epoch continues.
  void ForgetLookups();
  // Continues an epoch. REQUIRES: no open was noted yet.
  struct Past {
    struct Open {
      uint64_t name = 0;
      OpenClass kind = OpenClass::kFresh;
    };
    std::vector<uint64_t> opened;  // names opened before the last opens
    std::vector<Open> last{};      // opens in their order
    uint64_t stray = 0;            // re-opens of unknown names
    bool began_unexplained = false;
    bool owner_unknown = false;  // see EpochDetector::Past
  };
  void Restore(const Past& past);
  // The same, of an earlier run. How the epoch ends is no evidence of a split.
  void GoOn(const Past& past);
  // A job continues the epoch from a checkpoint. It had opened `names` and
  // `unknown` other names, and may open some of them again. It opens again
  // those of `names` that are `due`.
  void Resume(const std::vector<uint64_t>& names, uint64_t unknown,
              const std::vector<uint64_t>& due = {});
  // The same, of an epoch that this tracker watched. The checkpoint is of the
  // time when `read` names were opened, of which it knows `names`. Without
  // `read` it does not tell the time.
  void ResumeHere(const std::vector<uint64_t>& names,
                  absl::optional<uint64_t> read);

  const Options& options() const { return options_; }
  uint64_t consumed() const;
  uint64_t rereads() const { return rereads_; }
  // Names opened in this epoch. Right after its beginning these are the names
  // that were opened before the boundary was detected.
  std::vector<uint64_t> OpenedBefore() const;
  // Also names that were opened before the epoch was resumed, as far as they
  // are known.
  std::vector<uint64_t> OpenedEver() const;
  uint64_t unknown_before() const {
    return detector_ != nullptr ? detector_->unknown_count() : unknown_;
  }

 private:
  // Beyond so many readers, only lookups are proof.
  static constexpr size_t kMostReaders = 4096;
  // The longest time between the walk to a file and its open: a thread may not
  // be scheduled in between on a loaded machine.
  static constexpr std::chrono::milliseconds kLongestWalk{1000};

  void MakeDetector();
  // What the pass that ended so is a sign of.
  Suspicion SuspicionAfter(const EpochOutcome& outcome);
  // Returns whether `reader` has surely walked to the file after the boundary.
  bool WalkedHere(const Walk& walk);
  // Returns whether `reader` has opened before since a listing bound names.
  bool ListedTo(uint32_t reader);

  // Constant after construction.
  const Options options_;
  JobTracker& job_tracker_;

  std::shared_ptr<EpochLookups> lookups_;
  bool listed_ = false;
  bool hidden_readers_ = false;
  bool expects_reports_ = false;
  // A reader had ended when its open was reported, and had not been told of any
  // name. Its job is not known. From now on walks are shown in every epoch.
  bool short_readers_ = false;
  bool bound_anew_ = false;  // names showed other samples before
  // The number of opens noted before walks were surely shown.
  absl::optional<uint64_t> shown_from_;
  // Since the kernel was told.
  absl::optional<std::chrono::milliseconds> first_open_;
  // Threads that opened in this epoch. The value says whether that was after
  // names were bound by a listing.
  absl::flat_hash_map<uint32_t, bool> readers_;
  bool second_try_ = false;  // of the open that was last believed
  uint32_t walks_ = 0;  // lookups before that open; 0: walks were not shown
  // The reader and the name of an open that was counted and then sent back.
  absl::optional<std::pair<uint32_t, SampleId>> counted_;
  Bitmap opened_;  // used without a detector, which has its own
  uint64_t opened_count_ = 0;
  uint64_t rereads_ = 0;
  uint64_t unknown_ = 0;  // opened before the epoch was resumed
  // Null if the epoch's end is not detected from opens.
  std::unique_ptr<EpochDetector> detector_;
  std::unique_ptr<SplitSuspicion> suspicion_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_OPEN_TRACKER_H_
