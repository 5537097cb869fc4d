// SPDX-License-Identifier: Apache-2.0
// A part that lies in memory as the reads of the source brought it, and which
// of these bytes stand where in it. Who asks for some gathers them: that is one
// copy less than to lay them out first, and what was gathered is still in the
// processor's cache when it is given away. Large records need no copy at all.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_GATHERED_PART_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_GATHERED_PART_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/pool/paged_bytes.h"
#include "core/records/content/part_reads.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// Bytes to be given away, and those of them that were copied for that.
struct GivenBytes {
  std::vector<iovec> range;
  std::vector<std::unique_ptr<char[]>> copies;
};

// Immutable; any thread may call. Nothing blocks. Its memory is somebody
// else's: what the reads bring, then literals, then the table, 8 bytes a piece.
class GatheredPart {
 public:
  // Bytes of memory that it takes. REQUIRES: `reads` are those of the plan.
  static uint64_t Footprint(const PartPlan& plan,
                            const std::vector<PartRead>& reads);
  // More than this cannot be addressed. A part whose memory is no larger has
  // fewer bytes, too: no two copies of a part are of the same bytes of a file
  // (PartRecords::runs), so all its bytes have places of their own in memory.
  static constexpr uint64_t kMostBytes = ~uint32_t{0};

  // Writes the literals and the table. Each of `plan.kept` then says in `to`
  // where in the memory it will be. REQUIRES: `memory` has Footprint() bytes,
  // no more than kMostBytes.
  GatheredPart(PartPlan& plan, const std::vector<PartRead>& reads,
               PagedBytes memory);

  // Where in the memory read `k` is to go.
  uint64_t ReadBegin(size_t k) const { return read_begins_[k]; }

  // Appends the bytes [from, from + length) of the part to `given`: large
  // pieces where they are, small ones as a copy. REQUIRES: they are within.
  void Give(uint64_t from, uint64_t length, GivenBytes& given) const;

 private:
  // The bytes from `to` on up to the next piece's lie at `at` of the memory.
  struct Piece {
    uint32_t to = 0;
    uint32_t at = 0;
  };
  class Sorter;

  Piece piece(uint64_t i) const;
  // The piece that holds byte `offset` of the part.
  uint64_t PieceAt(uint64_t offset) const;
  void CopyOut(uint64_t from, uint64_t length, char* to) const;

  PagedBytes memory_;
  std::vector<uint64_t> read_begins_;
  uint64_t table_ = 0;  // where in the memory it begins
  uint64_t count_ = 0;  // pieces; one behind the last ends the table
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_GATHERED_PART_H_
