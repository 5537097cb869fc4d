// SPDX-License-Identifier: Apache-2.0
// What is in the performance tier: which range of which file lies where in
// which part. A few tens of bytes a range: its length goes by pages and by the
// catalogue's size of the file.
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

// A part that is there. Immutable.
struct StagedPart {
  struct Placed {
    TierKey key = 0;
    uint32_t pages = 0;  // that it takes
    uint32_t page = 0;   // of the part, in which it begins
    uint32_t first_check = 0;
  };
  uint64_t id = 0;
  uint64_t bytes = 0;          // of the whole part
  std::vector<Placed> ranges;  // by key
  std::vector<uint64_t> checks;

  // Null where the table is not of this catalogue, in any respect.
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

// How much of a part is wanted: bytes as they lie there.
struct PartUse {
  uint64_t id = 0;
  uint64_t bytes = 0;   // of the whole part
  uint64_t first = 0;   // ranges of the set that is read now
  uint64_t wanted = 0;  // of any set that is wanted, those too
};

// What is to be freed of parts, so that what is missing of the wanted sets fits
// into `capacity`: parts of which nothing is wanted, but for the last ones if
// they may be kept, and as far as room is short those of which least is, up to
// the half. What is wanted of these has to be copied again; or a few ranges
// would keep all of a former set. Pure.
struct RoomWanted {
  uint64_t capacity = 0;
  uint64_t missing_first = 0;  // bytes as they would lie in parts
  uint64_t missing = 0;        // of all wanted sets, those too
  bool keep = false;           // what is not wanted, in three quarters
};
std::vector<uint64_t> PartsToRemove(std::vector<PartUse> parts,
                                    RoomWanted room);

// Thread-safe. Nothing blocks. No range that it finds holds another one: so
// where a later one begins it ends later, too.
class TierStore {
 public:
  // How much of a range is wanted: bytes as they lie in a part.
  struct Wanted {
    uint64_t first = 0;
    uint64_t any = 0;
  };

  explicit TierStore(std::shared_ptr<const Catalogue> catalogue)
      : catalogue_(std::move(catalogue)) {}

  // The range that holds the byte `at` of a file; where several do, the one
  // that reaches furthest.
  absl::optional<TierPlace> Find(EntryId file, uint64_t at) const;
  TierCover Around(EntryId file, uint64_t at) const;
  // Whether one range holds all of it.
  bool Has(const StagedRange& range) const;
  uint64_t bytes() const;  // of all parts

  // What another part has already stays there; what is in a larger range now is
  // found there alone.
  void Add(std::shared_ptr<const StagedPart> part);
  // The range is not to be read from that part any more, the part still takes
  // its room. False if that was so already.
  bool Forget(const StagedRange& range, uint64_t part);
  // The same of all its ranges; the part is gone.
  bool Remove(uint64_t part);
  void Clear();

  std::vector<PartUse> Uses(
      const std::function<Wanted(const StagedRange&)>& wanted) const;

 private:
  using Where = absl::btree_map<TierKey, const StagedPart*>;

  std::vector<std::shared_ptr<const StagedPart>> Parts() const;
  // Where its last page ends: the file's size is not asked for.
  static uint64_t PagesEnd(Where::const_iterator at);
  // The last range that begins at `at` or before; end() if it does not hold it.
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
