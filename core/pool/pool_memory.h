// SPDX-License-Identifier: Apache-2.0
// PoolMemory says where a pool of a view gets its memory.
#ifndef SHUFFLEFS_CORE_POOL_POOL_MEMORY_H_
#define SHUFFLEFS_CORE_POOL_POOL_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/pool/bypass_reads.h"
#include "core/pool/memory/arena.h"
#include "core/pool/memory/buffer_pool.h"

namespace shufflefs {

struct PoolMemory {
  std::shared_ptr<BufferPool> pool;
  std::shared_ptr<BypassReads> bypass;  // reads what finds no room in the pool
  uint64_t guarantee = 0;               // bytes of the pool
  std::string name;                     // the view's

  // InvalidArgument if fewer bytes than `least` are guaranteed.
  absl::Status CheckLeast(uint64_t least) const {
    if (guarantee >= least) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "memory: ", guarantee, " bytes; at least ", least, " are needed"));
  }
  // Takes `bytes` bytes of the guarantee for memory that is not of the pool, as
  // long as the result lives. Errors: BufferPool::Open's.
  absl::StatusOr<std::unique_ptr<PoolShare>> Reserve(uint64_t bytes) {
    guarantee -= std::min(guarantee, bytes);
    return pool->Open(
        {.name = name, .guarantee = bytes, .floor = bytes, .most = bytes});
  }
};

// The part of the key `memory` that is for the buffer pool, in bytes.
inline uint64_t PoolBytes(uint64_t memory) {
  return memory - std::min(memory, BypassReads::BytesOf(memory));
}

// The bytes that the pool guarantees to each of `views` views.
inline uint64_t GuaranteeOf(uint64_t memory, size_t views) {
  return PoolBytes(memory) / std::max<size_t>(views, 1) / Arena::kPage *
         Arena::kPage;
}

// The least `memory` that guarantees so many bytes to each of `views` views.
inline uint64_t MemoryFor(uint64_t guarantee, size_t views) {
  const uint64_t pool = guarantee * std::max<size_t>(views, 1);
  // BypassReads take a sixteenth of it all: a fifteenth of the rest.
  return pool + BypassReads::BytesOf((pool + 14) / 15 * 16);
}

// The least value of `memory` in whole MiB whose pool has so many bytes.
inline uint64_t WholeMemoryFor(uint64_t pool_bytes) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  return (MemoryFor(pool_bytes, 1) + kMiB - 1) / kMiB * kMiB;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_POOL_MEMORY_H_
