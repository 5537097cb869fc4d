// SPDX-License-Identifier: Apache-2.0
// What is to be in the performance tier: sets of files, such as the
// mini-epochs of the met policy. Told by who knows the order of an epoch, asked
// by what copies (core/tiers/tier.h).
#ifndef SHUFFLEFS_CORE_TIERS_STAGING_PLAN_H_
#define SHUFFLEFS_CORE_TIERS_STAGING_PLAN_H_

#include <cstdint>
#include <vector>

#include "core/types.h"

namespace shufflefs {

// Thread-safe. Nothing blocks.
class StagingPlan {
 public:
  virtual ~StagingPlan() = default;

  // The sets that are to be there, that which is read now first, then those
  // that come next. A set's number means the same files for as long as it is
  // wanted. Empty: nothing is known yet, or nothing is to be copied.
  virtual std::vector<uint64_t> WantedSets() const = 0;
  // The files of a set, in the order in which they had best be read from the
  // source; empty if it is not wanted any more. Linear in the dataset.
  virtual std::vector<EntryId> FilesOf(uint64_t set) const = 0;
  // Whatever of a set can be read is in the tier now. Told once a set, or
  // again after it was not so for a while.
  virtual void SetReady(uint64_t set) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_TIERS_STAGING_PLAN_H_
