// SPDX-License-Identifier: Apache-2.0
// RecordShares divides the memory of a RecordProducer among its uses.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/pool_memory.h"

namespace shufflefs {

struct RecordShares {
  // Reads always have their buffers, so parts that wait for these may take all
  // the rest. Errors: BufferPool::Open's.
  // Each of `lanes` (DeviceLanes) has buffers of its own.
  static absl::StatusOr<RecordShares> Open(PoolMemory memory, size_t lanes);

  // The share of a lane's lone reads. There may be fewer than lanes; then
  // further lanes share the last.
  size_t SpareOf(size_t lane) const { return std::min(lane, spare.size() - 1); }
  uint64_t bytes_of_buffers() const;  // used

  std::unique_ptr<PoolShare> parts;
  std::vector<std::unique_ptr<PoolShare>> staging;  // by lane
  std::vector<std::unique_ptr<PoolShare>> spare;    // for lone reads
  // Pieces of records between blocks. Parts use the last share while blocks are
  // so large that there are few pieces.
  std::vector<std::unique_ptr<PoolShare>> straddling;
  // Reserved for what finds the pieces, which is not of the pool. Nobody
  // allocates from it.
  std::unique_ptr<PoolShare> index;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_
