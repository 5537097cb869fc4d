// SPDX-License-Identifier: Apache-2.0
// Which blocks of containers are to be in the performance tier: those of the
// mini-epochs that readers are in, and of the ones that follow. What comes next
// in a container is known; which container is opened next is not. Where all
// containers fit, they are to be there for good.
#ifndef SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_STAGING_H_
#define SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_STAGING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/policy/mini_epochs.h"
#include "core/records/content/record_pool.h"
#include "core/staging/staging_plan.h"

namespace shufflefs {

// Thread-safe. Nothing waits for a device. Of the containers of a view, for all
// of its epochs.
class RecordStaging : public StagingPlan {
 public:
  struct Options {
    // Told without a lock when other sets are wanted; may be empty.
    std::function<void()> changed;
    // These are wanted as a whole; empty: what readers are in is.
    std::vector<EntryId> whole;
    // Names in status what says how often a mini-epoch comes.
    std::string repeats_by;
  };
  RecordStaging(std::shared_ptr<const Catalogue> catalogue, Options options)
      : catalogue_(std::move(catalogue)), options_(std::move(options)) {}

  // A reader wants the bytes [begin, end) of a file, which shows mini-epochs. A
  // file whose end was read, or that was not read for long, is done with when
  // another is begun: not every mount is told what is closed. Of several
  // readers of one file the one ahead counts. May take seconds to find its
  // place, as a read of it.
  void NoteRead(const std::shared_ptr<const RecordFile>& file, uint64_t begin,
                uint64_t end);
  // It was closed; somebody else may have it open.
  void NoteClosed(EntryId file);

  std::vector<uint64_t> WantedSets() const override;
  size_t ReadNow() const override;
  // An epoch may end in the middle of a mini-epoch, with which the next begins.
  bool comes_again() const override { return true; }
  std::vector<StagedRange> RangesOf(uint64_t set) const override;
  void SetReady(uint64_t set) override;

  // Of the container that was read last.
  MiniEpochStatus status() const;

 private:
  // A mini-epoch of an order, and how it is called.
  struct Set {
    uint64_t number = 0;
    std::shared_ptr<const RecordFile> file;  // whose order it is
    const RepeatOrder* order = nullptr;
    uint64_t mini = 0;
  };
  // Where the readers of a file are.
  struct Place {
    std::shared_ptr<const RecordFile> file;
    const ShuffledFile* content = nullptr;
    uint64_t mini = 0;
    uint64_t repetition = 0;
    bool ended = false;   // somebody came to the end
    bool closed = false;  // and was not read since
    uint32_t behind = 0;  // reads in a row of an earlier mini-epoch
    uint64_t seen = 0;    // reads_ when it was read last
  };

  // Takes note of a read; whether it is of another mini-epoch than before.
  bool Note(Place now, uint64_t begin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // For one more.
  void ForgetDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t SetOf(const Place& place, uint64_t mini)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether a mini-epoch of the file is to be copied.
  bool IsWorthIt(const Place& place, uint64_t mini) const;
  // Says anew what is wanted; whether that is something else.
  bool Renew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::vector<StagedRange> WholeFiles() const;

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;
  const Options options_;

  mutable Mutex mu_;
  uint64_t reads_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Place> places_ ABSL_GUARDED_BY(mu_);  // the last read first
  std::vector<Set> sets_ ABSL_GUARDED_BY(mu_);      // that are wanted
  std::vector<uint64_t> wanted_ ABSL_GUARDED_BY(mu_);
  size_t read_now_ ABSL_GUARDED_BY(mu_) = 1;  // of wanted_
  std::set<uint64_t> ready_ ABSL_GUARDED_BY(mu_);
  uint64_t last_set_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_STAGING_H_
