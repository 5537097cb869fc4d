// SPDX-License-Identifier: Apache-2.0
// PartAges knows the parts of containers that are in memory, and which of them
// leaves first when memory is needed.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_PART_AGES_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_PART_AGES_H_

#include <compare>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/types/optional.h"

namespace shufflefs {

// What memory is for.
enum class PartNeed {
  // Nobody waits.
  kAhead,
  // A reader, for whom the bytes asked for cost little more.
  kPartOrAlone,
  // A reader that should have the whole part.
  kPart,
};

// Times are bytes: of all parts begun until then, and of all that was read
// alone. Not thread-safe: the pool's lock guards it.
class PartAges {
 public:
  using Key = std::pair<uint64_t, uint64_t>;  // RecordFile::id, part
  // First come parts that were read, the one read longest ago first. Then come
  // parts ahead of readers, the one begun longest ago first.
  struct Age {
    bool ahead = false;  // no reader came to it yet
    uint64_t since = 0;  // when it was begun or last read
    Key key;
    friend auto operator<=>(const Age&, const Age&) = default;
  };
  // The reader of a part is gone if nobody read it while so many times the
  // memory was read. Readers pause: a loader's worker waits until its batch is
  // taken.
  static constexpr uint64_t kGone = 2;

  // `memory`: the bytes that parts may take.
  explicit PartAges(uint64_t memory) : memory_(memory) {}

  void Add(const Age& age) { ages_.insert(age); }
  void Remove(const Age& age) { ages_.erase(age); }
  void Forget(const absl::flat_hash_set<uint64_t>& ids);
  // Takes out the part that leaves for this need. Nothing if none may leave.
  absl::optional<Key> TakeFor(PartNeed need, uint64_t now);

 private:
  // Constant after construction.
  const uint64_t memory_;

  std::set<Age> ages_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_PART_AGES_H_
