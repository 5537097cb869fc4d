// SPDX-License-Identifier: Apache-2.0
// RecordShares divides the memory of a RecordPool among its uses.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/pool_memory.h"

namespace shufflefs {

struct RecordShares {
  // Reads always have their buffers, so parts that wait for these may take all
  // the rest. Errors: BufferPool::Open's.
  static absl::StatusOr<RecordShares> Open(PoolMemory memory);

  std::unique_ptr<PoolShare> parts;
  std::unique_ptr<PoolShare> staging;
  std::unique_ptr<PoolShare> spare;  // for lone reads
  // Pieces of records between blocks. Parts use the last share while blocks are
  // so large that there are few pieces.
  std::vector<std::unique_ptr<PoolShare>> straddling;
  // Reserved for what finds the pieces, which is not of the pool. Nobody
  // allocates from it.
  std::unique_ptr<PoolShare> index;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_
