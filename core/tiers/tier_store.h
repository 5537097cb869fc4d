// SPDX-License-Identifier: Apache-2.0
// What is in the performance tier: which file lies where in which part. A few
// tens of bytes a file: its length is the catalogue's.
#ifndef SHUFFLEFS_CORE_TIERS_TIER_STORE_H_
#define SHUFFLEFS_CORE_TIERS_TIER_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/catalogue.h"
#include "core/mutex.h"
#include "core/tiers/tier_part.h"
#include "core/types.h"

namespace shufflefs {

// A part that is there. Immutable.
struct StagedPart {
  struct File {
    EntryId entry;
    uint32_t page = 0;  // where it begins, in kTierPage
    uint32_t first_check = 0;
  };
  uint64_t id = 0;
  uint64_t bytes = 0;       // of the whole part
  std::vector<File> files;  // by entry
  std::vector<uint64_t> checks;

  // Null where the table is not of this catalogue, in any respect.
  static std::shared_ptr<const StagedPart> Of(uint64_t id, uint64_t bytes,
                                              const TierTable& table,
                                              const Catalogue& catalogue);
  const File* Find(EntryId entry) const;
};

struct TierPlace {
  std::shared_ptr<const StagedPart> part;
  uint64_t offset = 0;                // of the file's first byte
  absl::Span<const uint64_t> checks;  // of the file
};

// How much of a part is wanted: bytes as they lie there.
struct PartUse {
  uint64_t id = 0;
  uint64_t bytes = 0;   // of the whole part
  uint64_t first = 0;   // files of the set that is read now
  uint64_t wanted = 0;  // of any set that is wanted, those too
};

// What is to be freed of parts, so that what is missing of the wanted sets fits
// into `capacity`: parts of which nothing is wanted, and as far as room is
// short those of which least is, up to the half. What is wanted of these has to
// be copied again; or a few files would keep all of a former set. Pure.
struct RoomWanted {
  uint64_t capacity = 0;
  uint64_t missing_first = 0;  // bytes as they would lie in parts
  uint64_t missing = 0;        // of all wanted sets, those too
};
std::vector<uint64_t> PartsToRemove(std::vector<PartUse> parts,
                                    RoomWanted room);

// Thread-safe. Nothing blocks.
class TierStore {
 public:
  // How much a file is wanted.
  enum class Rank { kNone, kNext, kFirst };

  explicit TierStore(std::shared_ptr<const Catalogue> catalogue)
      : catalogue_(std::move(catalogue)) {}

  absl::optional<TierPlace> Find(EntryId file) const;
  bool Has(EntryId file) const;
  uint64_t bytes() const;  // of all parts

  // A file that another part has stays there.
  void Add(std::shared_ptr<const StagedPart> part);
  // The file is not to be read from that part any more, the part still takes
  // its room. False if that was so already.
  bool Forget(EntryId file, uint64_t part);
  // The same of all its files; the part is gone.
  bool Remove(uint64_t part);
  void Clear();

  std::vector<PartUse> Uses(const std::function<Rank(EntryId)>& rank) const;

 private:
  std::vector<std::shared_ptr<const StagedPart>> Parts() const;

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;

  mutable Mutex mu_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<const StagedPart>> parts_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<EntryId, const StagedPart*> where_ ABSL_GUARDED_BY(mu_);
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_TIERS_TIER_STORE_H_
