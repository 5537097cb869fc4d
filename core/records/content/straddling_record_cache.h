// SPDX-License-Identifier: Apache-2.0
// StraddlingRecordCache keeps pieces of records that cross from one block into
// another. A piece that came with the block read first is kept until the other
// block is read.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_STRADDLING_RECORD_CACHE_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_STRADDLING_RECORD_CACHE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe.
class StraddlingRecordCache {
 public:
  // Holds at most `most` bytes, including what finds them.
  explicit StraddlingRecordCache(uint64_t most) : most_(most) {}

  // Keeps the piece that begins at byte `from` of the file, if there is room.
  void Keep(uint64_t file, uint64_t from, std::string piece);
  // Takes the piece out and returns it. Returns nothing if it is not here or
  // has another size.
  absl::optional<std::string> Take(uint64_t file, uint64_t from,
                                   uint64_t bytes);
  void Forget(const absl::flat_hash_set<uint64_t>& files);
  uint64_t bytes() const;

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // file, from

  const uint64_t most_;  // constant after construction

  mutable Mutex mu_;
  absl::flat_hash_map<Key, std::string> pieces_ ABSL_GUARDED_BY(mu_);
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_STRADDLING_RECORD_CACHE_H_
