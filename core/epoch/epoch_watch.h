// SPDX-License-Identifier: Apache-2.0
// What a view notes of lookups and opens within an epoch: which samples were
// consumed, whether an open follows a lookup of this epoch, when the epoch
// ends (where it is to be found in the opens), and whether the client splits
// the names itself.
//
// A stat of a name that the kernel knows is no request. So before an epoch can
// end every walk is made to ask (ShowWalks): from then on each name that a
// thread was told of and has not opened is known, and keeps its sample over
// the boundary. Thus what is sized before it and opened after it is one file.
// The walks of a new pass are among these, as they begin when the last file of
// the old one is there, and that is opened later than walks are shown.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_WATCH_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_WATCH_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/name_bits.h"
#include "core/base/types.h"
#include "core/config/config.h"
#include "core/epoch/epoch_detector.h"
#include "core/epoch/epoch_lookups.h"
#include "core/epoch/split_suspicion.h"
#include "core/readers/reader_family.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. Lookups need no lock: they go to
// lookups(). Memory: 4 bits a sample, and the detector's and the suspicion's
// where the epoch advances by itself.
class EpochWatch {
 public:
  struct Options {
    uint64_t samples = 0;
    uint32_t groups = 0;
    bool finds_epochs = false;  // epoch.advance = auto
    uint64_t epoch_length = 0;
    uint32_t epoch_pad = 8;
    std::chrono::milliseconds double_open{10000};
    friend bool operator==(const Options&, const Options&) = default;
  };
  // `families` outlives the watch.
  EpochWatch(const Options& options, ReaderFamilies& families);

  // Of the binding that is the live one, or the next to be: BeginEpoch and
  // ForgetLookups give it others.
  const std::shared_ptr<EpochLookups>& lookups() const { return lookups_; }
  // Whether thread `reader` (0 = hidden) opens what a name shows in this
  // epoch: the sample was looked up in it, or names were bound by a listing.
  // But another thread may have looked it up, and this one have walked to the
  // file before the boundary. So until the kernel was told (`told`) nobody is
  // believed, and soon after that no thread's first open. After false the same
  // thread is believed: the kernel has looked up, and asks no third time.
  struct Walk {
    SampleId sample;
    uint32_t reader = 0;
    std::chrono::milliseconds now{0};
    bool told = true;
    bool is_shown = true;  // in this epoch; else it is of one before
  };
  bool TakeLookup(const Walk& walk);
  // Whether the open of `reader` that TakeLookup has just believed may be sent
  // back after all: the kernel looks up again, and nothing but its walk to the
  // file has told the thread of it, so that it has not asked for the size.
  bool MaySendBack(uint32_t reader) const {
    return reader != 0 && !second_try_ && walks_ == 1;
  }
  // It is, `name` being bound anew meanwhile. When it comes again, it counts no
  // second time.
  void SendBack(SampleId name, uint32_t reader);
  // The epoch ends: no lookup is told anything of it from now on. What threads
  // that were sent back have looked up since and will open: the kernel asks no
  // third time, so over a boundary in between the names must go on showing it.
  // With them what threads may have sized and not opened yet.
  std::vector<SampleId> TakeUnderWay() {
    return lookups_->CloseAndTakeUnderWay();
  }
  // It goes on in the place of `before`.
  void TakeSentBack(EpochWatch& before) {
    lookups_->TakeSentBack(*before.lookups_);
  }
  // Whether the next opens may end the epoch, and walks are not shown yet.
  bool WalksAreDue() const;
  // The same, where whoever read is gone and somebody else lists a directory.
  bool WalksAreDueTo(std::chrono::milliseconds now) const;
  // From now on every walk to a name is a lookup, until names are bound anew or
  // HideWalks. The kernel is to be told before the open is answered by which
  // they were due.
  void ShowWalks() { lookups_->ShowWalks(true); }
  // The epoch did not end with the pass: back to what the kernel remembers.
  // Returns whether walks were shown.
  bool HideWalks() { return lookups_->ShowWalks(false); }
  bool shows_walks() const { return lookups_->shows_walks(); }
  // From now on names may be bound by a listing.
  void NoteListed();
  // Whether that helps: every reader can be told from the others, and names
  // that the kernel remembers hide no walk.
  bool may_list() const { return !hidden_readers_ && !shows_walks(); }

  struct Open {
    SampleId name;  // numbered by its own sample
    GroupId group;
    uint32_t reader = 0;  // thread id, 0 = hidden
    std::chrono::milliseconds now{0};
  };
  struct Seen {
    bool fresh = false;    // the first open of the name in this epoch
    EpochOutcome outcome;  // with a verdict if the epoch ended
    Suspicion suspicion = Suspicion::kNone;
  };
  Seen NoteOpen(const Open& open);

  // The user ended the epoch.
  void Signal();
  // Names are bound anew. What the detector says has been opened of the new
  // epoch already, stays; the rest begins empty.
  void BeginEpoch();
  // Names are bound anew, but the epoch goes on.
  void ForgetLookups();
  // Continues an epoch. REQUIRES: no open was noted yet.
  struct Past {
    struct Open {
      uint64_t name = 0;
      OpenClass kind = OpenClass::kFresh;
    };
    std::vector<uint64_t> opened;  // names, before the last opens
    std::vector<Open> last{};      // opens in their order
    uint64_t stray = 0;            // re-opens of names that are not known
    bool began_unexplained = false;
  };
  void Restore(const Past& past);
  // Another run goes on with the epoch, so that how it ends tells nothing of a
  // split.
  void ContinueOther();
  // A job goes on with the epoch from a checkpoint: it was opened under these
  // names, and under `unknown` others, and may open some of them again.
  void Resume(const std::vector<uint64_t>& names, uint64_t unknown);
  // The same with what was opened under this watch.
  void ResumeHere() { Resume(OpenedEver(), unknown_before()); }

  const Options& options() const { return options_; }
  uint64_t consumed() const;
  uint64_t rereads() const { return rereads_; }
  // Names opened in this epoch; right after its beginning those that were
  // opened before that was known.
  std::vector<uint64_t> OpenedBefore() const;
  // With what was opened before the epoch was resumed, as far as it is known.
  std::vector<uint64_t> OpenedEver() const;
  uint64_t unknown_before() const {
    return detector_ != nullptr ? detector_->unknown_count() : unknown_;
  }

 private:
  // Of others only lookups are proof.
  static constexpr size_t kMostReaders = 4096;
  // Between the walk to a file and its open: for a thread that is not run in
  // between, on a machine under load.
  static constexpr std::chrono::milliseconds kLongestWalk{1000};

  void MakeDetector();
  // Whether `reader` has surely walked to what it opens after the boundary.
  bool WalkedHere(const Walk& walk);
  // Whether it has opened before since names were bound by a listing.
  bool ListedTo(uint32_t reader);

  // Constant after construction.
  const Options options_;
  ReaderFamilies& families_;

  std::shared_ptr<EpochLookups> lookups_;
  bool listed_ = false;
  bool hidden_readers_ = false;
  bool bound_anew_ = false;  // names showed other samples before
  absl::optional<std::chrono::milliseconds> first_open_;  // since it was told
  // Threads that opened in this epoch, and whether that was after names were
  // bound by a listing.
  absl::flat_hash_map<uint32_t, bool> readers_;
  bool second_try_ = false;  // the open that was believed last
  uint32_t walks_ = 0;       // to it; 0: they were not shown
  // The reader and the name of an open that was counted and then sent back.
  absl::optional<std::pair<uint32_t, SampleId>> counted_;
  NameBits opened_;  // used without a detector, which counts for itself
  uint64_t opened_count_ = 0;
  uint64_t rereads_ = 0;
  uint64_t unknown_ = 0;  // opened before the epoch was resumed
  // Null unless the epoch's end is to be found in the opens.
  std::unique_ptr<EpochDetector> detector_;
  std::unique_ptr<SplitSuspicion> suspicion_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_WATCH_H_
