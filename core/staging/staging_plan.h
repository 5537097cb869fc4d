// SPDX-License-Identifier: Apache-2.0
// StagingPlan says what the performance tier should hold: sets of files, or of
// ranges of files, such as the mini-epochs of the met policy. The owner of an
// epoch's order implements it. The copying side (core/staging/stager/tier.h)
// asks it.
#ifndef SHUFFLEFS_CORE_STAGING_STAGING_PLAN_H_
#define SHUFFLEFS_CORE_STAGING_STAGING_PLAN_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.h"

namespace shufflefs {

// StagedRange is a section of a file that is copied as a unit: a small file as
// a whole, or some records of a container.
struct StagedRange {
  EntryId file;
  uint64_t from = 0;    // bytes, a multiple of kTierPage (tier_part.h)
  uint64_t length = 0;  // bytes, > 0; end: a multiple or the file's end

  uint64_t end() const { return from + length; }
  friend auto operator<=>(const StagedRange&, const StagedRange&) = default;
};

// Thread-safe. No method blocks.
class StagingPlan {
 public:
  virtual ~StagingPlan() = default;

  // The sets that the tier should hold: first those that are read now, then the
  // next ones. While a set is wanted, its number always means the same ranges.
  // Empty if nothing is known yet, or if nothing is to be copied.
  virtual std::vector<uint64_t> WantedSets() const = 0;
  // Returns how many of these sets are read now: 1, or one per reader.
  virtual size_t ReadNow() const { return 1; }
  // Returns whether sets that are no longer wanted may soon be read again. If
  // so, they stay while there is plenty of room.
  virtual bool sets_return() const { return false; }
  // The ranges of a set, in the best order to read them from the source. Empty
  // if the set is no longer wanted. Linear in the dataset. Two ranges of one
  // file, in this set or in others, are either the same or share at most one
  // page: the last of one and the first of the next. The tier ignores a range
  // that is empty or is no range of the catalogue's file.
  virtual std::vector<StagedRange> RangesOf(uint64_t set) const = 0;
  // The tier now holds all of the set that can be read. It calls this once per
  // set, and again if this stopped being true for a while.
  virtual void SetReady(uint64_t set) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGING_PLAN_H_
