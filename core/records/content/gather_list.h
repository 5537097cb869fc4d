// SPDX-License-Identifier: Apache-2.0
// GatherList is a part in memory as the reads of the source brought it, with
// a table of which bytes belong where. Each answer gathers the bytes that it
// needs. This saves the copy that would lay them out first, and the gathered
// bytes are still in the processor's cache when they are sent. Large records
// need no copy at all.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_GATHER_LIST_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_GATHER_LIST_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/io/io_buf.h"
#include "core/records/content/part_reads.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// Bytes for an answer, and the copies that were made for it.
struct GivenBytes {
  std::vector<iovec> range;
  std::vector<std::unique_ptr<char[]>> copies;

  // One reply takes at most IOV_MAX pieces, and its header is one of them.
  static constexpr size_t kMostPieces = 1000;
  // If there are more pieces, makes one copy of all.
  void Bound();
};

// Immutable; any thread may call. Nothing blocks. Its memory has another owner.
// It holds what the reads bring, then literals, then the table with 8 bytes per
// piece.
class GatherList {
 public:
  // Returns the bytes of memory that it takes. REQUIRES: `reads` are those of
  // the plan.
  static uint64_t Footprint(const PartPlan& plan,
                            const std::vector<PartRead>& reads);
  // Offsets reach no further than this. If the memory of a part is no larger,
  // the part has no more bytes either. This is because no two copies of a part
  // are of the same bytes of a file (PartRecords::runs). So each byte has its
  // own place in memory.
  static constexpr uint64_t kMostBytes = ~uint32_t{0};

  // Writes the literals and the table. Sets `to` of each of `plan.kept` to its
  // future place in the memory. REQUIRES: `memory` has Footprint() bytes, at
  // most kMostBytes.
  GatherList(PartPlan& plan, const std::vector<PartRead>& reads, IoBuf memory);

  // Returns the offset in the memory to which read `k` goes.
  uint64_t ReadBegin(size_t k) const { return read_begins_[k]; }

  // Appends the bytes [from, from + length) of the part to `given`. Large
  // pieces are given in place, small ones as a copy. REQUIRES: the range is
  // within the part.
  void Give(uint64_t from, uint64_t length, GivenBytes& given) const;

 private:
  // The bytes from `to` up to the next piece's `to` are at `at` in the memory.
  struct Piece {
    uint32_t to = 0;
    uint32_t at = 0;
  };
  class Sorter;

  Piece piece(uint64_t i) const;
  // Returns the piece that holds byte `offset` of the part.
  uint64_t PieceAt(uint64_t offset) const;
  void CopyOut(uint64_t from, uint64_t length, char* to) const;

  IoBuf memory_;
  std::vector<uint64_t> read_begins_;
  uint64_t table_ = 0;  // its offset in the memory
  uint64_t count_ = 0;  // pieces; one more after the last ends the table
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_GATHER_LIST_H_
