// SPDX-License-Identifier: Apache-2.0
// BlockPass decides which blocks of a container form which mini-epoch of one
// pass over it (MET). It is stratified: if several files are shuffled as one,
// each file gives each mini-epoch floor or ceil of its blocks over the number
// of mini-epochs. It is drawn anew for each pass, the paper's remedy for bias.
//
// If a mini-epoch has many blocks of a file, they are drawn by runs of adjacent
// blocks of at most 4 MiB, because a disk that moves its arm for every megabyte
// copies half as fast as one that reads sequentially.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_BLOCK_PASS_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_BLOCK_PASS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/formats/record_table.h"
#include "core/random/random.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

// Block b is the records that begin in the b-th block_bytes bytes of the table,
// counted from those in which the first record begins. Blocks in which none
// begins are left out. Memory: 4 bytes per block. Making it takes about 0.4 us
// per block. Immutable.
class BlockPass {
 public:
  struct Input {
    const RecordTable* table = nullptr;  // outlives the pass; not empty
    uint64_t block_bytes = 0;
    uint64_t mini_epochs = 1;  // wanted number; each has two blocks at least
    uint64_t multiple_of = 1;  // their number is a multiple of it, if possible
    RandomKey key{0};
    // See RecordOrderOptions::strata.
    absl::Span<const uint64_t> strata;
  };
  explicit BlockPass(const Input& input);

  // From 1 to the wanted number.
  uint64_t mini_epochs() const { return begins_.size() - 1; }
  // The blocks of a mini-epoch, in ascending order.
  absl::Span<const uint32_t> blocks(uint64_t mini) const {
    return absl::MakeSpan(blocks_).subspan(begins_[mini],
                                           begins_[mini + 1] - begins_[mini]);
  }
  uint64_t records(uint64_t mini) const { return records_[mini]; }
  PartRecords::Run RunOf(uint32_t block) const;

  // Number of blocks of a table. At most 2^32: otherwise enlarges
  // `block_bytes`.
  static uint64_t BlocksOf(const RecordTable& table, uint64_t& block_bytes);

 private:
  // Blocks [begin, end) of all blocks, which are those of one file.
  struct Stratum {
    uint64_t number = 0;
    size_t begin = 0;
    size_t end = 0;
    size_t size() const { return end - begin; }
  };
  void Deal(const Input& input, const std::vector<uint32_t>& blocks);
  // Assigns each block of a stratum to a mini-epoch.
  void DealStratum(const Input& input, const Stratum& stratum,
                   std::vector<uint32_t>& mini_of) const;
  // Number of blocks that are drawn together.
  uint64_t RunLength(const Stratum& stratum) const;

  const RecordTable* table_;
  uint64_t block_bytes_;
  uint64_t first_block_;
  std::vector<uint32_t> blocks_;  // by mini-epoch
  // First index in blocks_, by mini-epoch, and the end.
  std::vector<uint64_t> begins_;
  std::vector<uint64_t> records_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_BLOCK_PASS_H_
