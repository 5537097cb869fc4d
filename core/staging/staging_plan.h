// SPDX-License-Identifier: Apache-2.0
// What is to be in the performance tier: sets of files, or of ranges of files,
// such as the mini-epochs of the met policy. Told by who knows the order of an
// epoch, asked by what copies (core/staging/stager/tier.h).
#ifndef SHUFFLEFS_CORE_STAGING_STAGING_PLAN_H_
#define SHUFFLEFS_CORE_STAGING_STAGING_PLAN_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.h"

namespace shufflefs {

// A stretch of a file that is copied as one: the whole of a small file, or some
// records of a container file.
struct StagedRange {
  EntryId file;
  uint64_t from = 0;    // bytes, a multiple of kTierPage (tier_part.h)
  uint64_t length = 0;  // bytes, > 0; up to a multiple of it, or the file's end

  uint64_t end() const { return from + length; }
  friend auto operator<=>(const StagedRange&, const StagedRange&) = default;
};

// Thread-safe. Nothing blocks.
class StagingPlan {
 public:
  virtual ~StagingPlan() = default;

  // The sets that are to be there, that which is read now first, then those
  // that come next. A set's number means the same ranges for as long as it is
  // wanted. Empty: nothing is known yet, or nothing is to be copied.
  virtual std::vector<uint64_t> WantedSets() const = 0;
  // How many of these are read now: 1, or as many as there are readers.
  virtual size_t ReadNow() const { return 1; }
  // Whether what is not wanted any more may be read again soon, and so stays as
  // long as there is plenty of room.
  virtual bool comes_again() const { return false; }
  // What a set is made of, in the order in which it had best be read from the
  // source; empty if it is not wanted any more. Linear in the dataset. Ranges
  // of one file, in this set and in others, are the same or have a page in
  // common at most, the last of one and the first of the next. What is no range
  // of the catalogue's file, or empty, is left out.
  virtual std::vector<StagedRange> RangesOf(uint64_t set) const = 0;
  // Whatever of a set can be read is in the tier now. Told once a set, or
  // again after it was not so for a while.
  virtual void SetReady(uint64_t set) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGING_PLAN_H_
