// SPDX-License-Identifier: Apache-2.0
// RecordShares divides the memory of a RecordProducer among its uses.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_SHARES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/pool_memory.h"

namespace shufflefs {

// How so much guaranteed memory is divided, in bytes.
struct RecordBudget {
  static RecordBudget Of(uint64_t guarantee);

  // The part of a reader and the one fetched ahead of it fit, even if pieces
  // take all that they may. Otherwise some small ones fit, too.
  uint64_t largest_part() const { return parts / 2; }
  // A file that is no larger is best read as a whole.
  uint64_t whole_bytes() const;
  // What parts may use while there are few pieces.
  uint64_t pool_bytes() const { return parts + straddling[1]; }
  // The most that pieces of records between blocks may take.
  uint64_t straddling_bytes() const { return straddling[0] + straddling[1]; }
  uint64_t most_pieces() const;

  uint64_t index = 0;
  std::array<uint64_t, 2> straddling = {};
  uint64_t parts = 0;  // a little more if several lanes leave some
};

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
