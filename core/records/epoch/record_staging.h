// SPDX-License-Identifier: Apache-2.0
// RecordStaging decides which blocks of containers should be in the performance
// tier: those of the mini-epochs that readers are in, and of the next ones. The
// next mini-epoch of a container is known; the next container to be opened is
// not. If all containers fit, they stay there permanently.
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
#include "core/records/content/record_producer.h"
#include "core/staging/staging_plan.h"

namespace shufflefs {

// Thread-safe. Nothing waits for a device. One object serves the containers of
// a view, in all of its epochs.
class RecordStaging : public StagingPlan {
 public:
  struct Options {
    // Called without a lock when other sets are wanted. May be empty.
    std::function<void()> changed;
    // Files that are wanted as a whole. Empty: what readers are in is wanted.
    std::vector<EntryId> whole;
    // For status: what sets how often a mini-epoch comes.
    std::string repeats_by;
  };
  RecordStaging(std::shared_ptr<const Catalogue> catalogue, Options options)
      : catalogue_(std::move(catalogue)), options_(std::move(options)) {}

  // A reader wants the bytes [begin, end) of a file that shows mini-epochs. A
  // file counts as done when another begins, if its end was read or if it was
  // not read for long, because not every mount sees closes. Of several readers
  // of one file the furthest counts. May take seconds to find its position,
  // like a read of it.
  void NoteRead(const std::shared_ptr<const RecordFile>& file, uint64_t begin,
                uint64_t end);
  // The file was closed. Another reader may still have it open.
  void NoteClosed(EntryId file);

  std::vector<uint64_t> WantedSets() const override;
  size_t ReadNow() const override;
  // An epoch may end in the middle of a mini-epoch, with which the next begins.
  bool sets_return() const override { return true; }
  std::vector<StagedRange> RangesOf(uint64_t set) const override;
  void SetReady(uint64_t set) override;

  // For the container that was read last.
  MiniEpochStatus status() const;

 private:
  // A mini-epoch of an order, and its number as a set.
  struct Set {
    uint64_t number = 0;
    std::shared_ptr<const RecordFile> file;  // the file that has this order
    const RepeatOrder* order = nullptr;
    uint64_t mini = 0;
  };
  // The position of a file's readers.
  struct Place {
    std::shared_ptr<const RecordFile> file;
    const ShuffledFile* content = nullptr;
    uint64_t mini = 0;
    uint64_t repetition = 0;
    bool ended = false;   // a reader came to the end
    bool closed = false;  // closed, and not read since
    uint32_t behind = 0;  // successive reads of an earlier mini-epoch
    uint64_t seen = 0;    // value of reads_ at the last read
  };

  // Notes a read. Returns whether it is of another mini-epoch than before.
  bool Note(Place now, uint64_t begin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes room for one more.
  void ForgetDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t SetOf(const Place& place, uint64_t mini)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether a mini-epoch of the file should be copied.
  bool IsWorthIt(const Place& place, uint64_t mini) const;
  // Updates what is wanted. Returns whether it changed.
  bool Renew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::vector<StagedRange> WholeFiles() const;

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;
  const Options options_;

  mutable Mutex mu_;
  uint64_t reads_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Place> places_ ABSL_GUARDED_BY(mu_);  // last read first
  std::vector<Set> sets_ ABSL_GUARDED_BY(mu_);      // that are wanted
  std::vector<uint64_t> wanted_ ABSL_GUARDED_BY(mu_);
  size_t read_now_ ABSL_GUARDED_BY(mu_) = 1;  // how many of wanted_
  std::set<uint64_t> ready_ ABSL_GUARDED_BY(mu_);
  uint64_t last_set_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_EPOCH_RECORD_STAGING_H_
