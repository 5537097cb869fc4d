// SPDX-License-Identifier: Apache-2.0
// TierStore is the index of the performance tier: which range of which file is
// at which place of which part. A range takes a few tens of bytes, because its
// length follows from its pages and from the file's size in the catalogue.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_STORE_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/staging/tier/tier_part.h"
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

// A part that is in the tier. Immutable.
struct StagedPart {
  struct Placed {
    TierKey key = 0;
    uint32_t pages = 0;  // that it takes
    uint32_t page = 0;   // of the part, at which it begins
    uint32_t first_check = 0;
  };
  uint64_t id = 0;
  uint64_t bytes = 0;          // of the whole part
  std::vector<Placed> ranges;  // by key
  std::vector<uint64_t> checks;

  // Null if any entry of the table is not of this catalogue.
  static std::shared_ptr<const StagedPart> Of(uint64_t id, uint64_t bytes,
                                              const TierTable& table,
                                              const Catalogue& catalogue);
  const Placed* Find(TierKey key) const;
};

struct TierPlace {
  std::shared_ptr<const StagedPart> part;
  StagedRange range;
  uint64_t offset = 0;                // of the range's first byte
  absl::Span<const uint64_t> checks;  // of the range
};

// How much of a part is wanted. Bytes as stored in parts.
struct PartUse {
  uint64_t id = 0;
  uint64_t bytes = 0;   // of the whole part
  uint64_t first = 0;   // ranges of the set that is read now
  uint64_t wanted = 0;  // ranges of all wanted sets, including that one
};

// PartsToRemove chooses the parts to remove, so that what is missing of the
// wanted sets fits into `capacity`. Parts of which nothing is wanted go first,
// except the latest ones if they may be kept. If room is still short, parts of
// which at most half is wanted go too, those with the least first. Their wanted
// ranges must then be copied again. Without this rule a few ranges would keep
// all of an earlier set. Pure.
struct RoomWanted {
  uint64_t capacity = 0;
  uint64_t missing_first = 0;  // bytes as stored in parts
  uint64_t missing = 0;        // of all wanted sets, including the first
  bool keep = false;           // unwanted parts, in 3/4 of the capacity
};
std::vector<uint64_t> PartsToRemove(std::vector<PartUse> parts,
                                    RoomWanted room);

// Thread-safe. No method blocks. No range that Find returns contains another
// one. So a range that begins later also ends later.
class TierStore {
 public:
  // How much of a range is wanted. Bytes as stored in a part.
  struct Wanted {
    uint64_t first = 0;
    uint64_t any = 0;
  };

  explicit TierStore(std::shared_ptr<const Catalogue> catalogue)
      : catalogue_(std::move(catalogue)) {}

  // The range that holds the byte `at` of a file. If several do, the one that
  // reaches furthest.
  absl::optional<TierPlace> Find(EntryId file, uint64_t at) const;
  TierCover Around(EntryId file, uint64_t at) const;
  // Returns whether one range holds all of `range`.
  bool Has(const StagedRange& range) const;
  uint64_t bytes() const;  // of all parts

  // Ranges that another part already has stay there. Ranges that are inside a
  // larger new range are from now on found in that one only.
  void Add(std::shared_ptr<const StagedPart> part);
  // The range is no longer read from that part, but the part still takes its
  // room. Returns false if that was so already.
  bool Forget(const StagedRange& range, uint64_t part);
  // The same for all ranges of a part that is gone.
  bool Remove(uint64_t part);
  void Clear();

  std::vector<PartUse> Uses(
      const std::function<Wanted(const StagedRange&)>& wanted) const;

 private:
  using Where = absl::btree_map<TierKey, const StagedPart*>;

  std::vector<std::shared_ptr<const StagedPart>> Parts() const;
  // The end of the last page. It does not ask for the file's size.
  static uint64_t PagesEnd(Where::const_iterator at);
  // The last range that begins at `at` or before, or end() if it does not hold
  // `at`.
  Where::const_iterator Holder(EntryId file, uint64_t at) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddOne(const StagedPart& part, const StagedPart::Placed& placed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;

  mutable Mutex mu_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<const StagedPart>> parts_
      ABSL_GUARDED_BY(mu_);
  Where where_ ABSL_GUARDED_BY(mu_);
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_STORE_H_
