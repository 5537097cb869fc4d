// SPDX-License-Identifier: Apache-2.0
// What a StagingPlan wants, as it said at one time.
#ifndef SHUFFLEFS_CORE_TIERS_TIER_WISHES_H_
#define SHUFFLEFS_CORE_TIERS_TIER_WISHES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/catalogue.h"
#include "core/tiers/staging_plan.h"
#include "core/tiers/tier_store.h"
#include "core/types.h"

namespace shufflefs {

// Immutable. A bit or two an entry of the catalogue, and four bytes a file that
// is wanted.
class TierWishes {
 public:
  struct Set {
    uint64_t number = 0;
    // Files that have bytes, in the order of the plan.
    std::shared_ptr<const std::vector<EntryId>> files;
  };

  // Asks `plan` for the files of `sets`, but for those that `before`, of the
  // same plan, or null, has already.
  TierWishes(const Catalogue& catalogue, const StagingPlan& plan,
             const std::vector<uint64_t>& sets, const TierWishes* before);

  const std::vector<Set>& sets() const { return sets_; }
  std::vector<uint64_t> numbers() const;
  TierStore::Rank RankOf(EntryId file) const {
    const uint32_t at = file.value();
    if (at >= wanted_.size() || !wanted_[at]) return TierStore::Rank::kNone;
    return first_[at] ? TierStore::Rank::kFirst : TierStore::Rank::kNext;
  }
  bool wants(EntryId file) const {
    return RankOf(file) != TierStore::Rank::kNone;
  }

 private:
  std::vector<Set> sets_;
  std::vector<bool> wanted_;  // by entry
  std::vector<bool> first_;   // by entry
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_TIERS_TIER_WISHES_H_
