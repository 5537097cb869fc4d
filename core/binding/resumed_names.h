// SPDX-License-Identifier: Apache-2.0
// ResumedNames holds the names of an epoch that were opened before a job
// continued it from a checkpoint, and not since. The job reads the remaining
// names. It may also open some of these names once more, because loaders read
// ahead of training. Such an open is no sign of a new pass.
//
// The job may have gone on after it saved. Then names are due: they were opened
// after the checkpoint, so the job opens them again before its pass is over.
#ifndef SHUFFLEFS_CORE_BINDING_RESUMED_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_RESUMED_NAMES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/base/bitmap.h"

namespace shufflefs {

// Not thread-safe. Memory: two bits per name once an epoch was resumed.
class ResumedNames {
 public:
  // The epoch has `names` names. Those in `known` were opened before, and
  // `unknown` others. Those in `due`, all of them known, are due.
  void Begin(uint64_t names, absl::Span<const uint64_t> known, uint64_t unknown,
             absl::Span<const uint64_t> due = {});
  void Clear();

  // Number of names that were opened before and not since.
  uint64_t count() const { return known_ + unknown_; }
  uint64_t unknown() const { return unknown_; }
  // Returns whether `name` is one of the known ones.
  bool Knows(uint64_t name) const { return known_ > 0 && bits_.Get(name); }
  // Number of names that are due and were not opened since.
  uint64_t due_count() const { return due_; }
  bool IsDue(uint64_t name) const { return due_ > 0 && due_bits_.Get(name); }

  // Each is the first open of a name of the epoch since it was resumed: of a
  // known name, of a remaining name, or of a name that may be an unknown one.
  void TakeKnown(uint64_t name);
  void TakeLeft() { ++left_; }
  void TakeUnknown() { unknown_ -= unknown_ > 0 ? 1 : 0; }

  // Call it when all remaining names have been read. Returns whether the job
  // skipped what it had read, that is, opened few of those names. Otherwise it
  // may be reading all names again, and its pass continues.
  bool WereSkipped() const;
  template <typename Visit>
  void ForEachKnown(Visit&& visit) const {
    if (known_ > 0) bits_.ForEach(visit);
  }

 private:
  Bitmap bits_{0};
  Bitmap due_bits_{0};
  uint64_t known_ = 0;
  uint64_t unknown_ = 0;
  uint64_t due_ = 0;
  uint64_t left_ = 0;   // remaining names, and due ones, opened since
  uint64_t again_ = 0;  // other names opened since
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_RESUMED_NAMES_H_
