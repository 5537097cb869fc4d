// SPDX-License-Identifier: Apache-2.0
// StagingRequests is what a StagingPlan wanted at one time.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_STAGING_REQUESTS_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_STAGING_REQUESTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/tier_ranges.h"
#include "core/staging/tier/tier_store.h"

namespace shufflefs {

// Immutable. For whole files, of which there may be millions, it takes a bit or
// two per entry of the catalogue and four bytes per wanted file. Any other
// range is a block of many records and takes some thirty bytes, sorted. The
// catalogue outlives it.
class StagingRequests {
 public:
  struct Set {
    uint64_t number = 0;
    // Those that have bytes, in the order of the plan.
    std::shared_ptr<const TierRanges> ranges;
  };

  // Asks `plan` for the ranges of `sets`, except those that `before` has
  // already. `before` is null or of the same plan.
  StagingRequests(const Catalogue& catalogue, const StagingPlan& plan,
                  const std::vector<uint64_t>& sets,
                  const StagingRequests* before);

  const std::vector<Set>& sets() const { return sets_; }
  // How many sets, from the first on, are read now.
  size_t read_now() const { return read_now_; }
  std::vector<uint64_t> numbers() const;
  // Returns whether exactly this range is wanted.
  bool wants(const StagedRange& range) const;
  // How much of `range`, which is in a part, consists of wanted ranges.
  TierStore::Wanted WantedIn(const StagedRange& range) const;
  // The first wanted range of `file` that begins at `from` or later.
  absl::optional<StagedRange> Next(EntryId file, uint64_t from) const;
  // The wanted ranges that are no whole files and hold some of the file's bytes
  // [from, to).
  std::vector<StagedRange> PiecesOver(EntryId file, uint64_t from,
                                      uint64_t to) const;

 private:
  // A wanted range that is no whole file.
  struct Piece {
    TierKey key = 0;
    uint32_t pages = 0;
    bool first = false;
  };
  void Add(const StagedRange& range, bool first);
  void Sort();
  std::vector<Piece>::const_iterator FirstFrom(EntryId file,
                                               uint64_t from) const;

  const Catalogue* catalogue_;
  size_t read_now_;
  std::vector<Set> sets_;
  std::vector<bool> wanted_;   // whole files, by entry
  std::vector<bool> first_;    // by entry
  std::vector<Piece> pieces_;  // by key
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_STAGING_REQUESTS_H_
