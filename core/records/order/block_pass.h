// SPDX-License-Identifier: Apache-2.0
// Which blocks of a container make which mini-epoch of one pass over it (MET):
// stratified, so that each file of several that are shuffled as one gives each
// mini-epoch floor or ceil of its blocks over the number of mini-epochs; drawn
// anew for each pass, the paper's remedy for bias.
//
// Where a mini-epoch has many blocks of a file they are drawn by runs of blocks
// that lie together, of 4 MiB at most: a disk that moves its arm for every
// megabyte copies half as fast as one that reads on.
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
// begins are left out. 4 bytes a block, made in about 0.4 us a block.
// Immutable.
class BlockPass {
 public:
  struct Input {
    const RecordTable* table = nullptr;  // outlives the pass; not empty
    uint64_t block_bytes = 0;
    uint64_t mini_epochs = 1;  // wished; each has two blocks at least
    uint64_t multiple_of = 1;  // of which their number is one, if it can be
    RandomKey key{0};
    // As RecordOrderOptions::strata.
    absl::Span<const uint64_t> strata;
  };
  explicit BlockPass(const Input& input);

  // 1 to as many as were wished.
  uint64_t mini_epochs() const { return begins_.size() - 1; }
  // Of a mini-epoch, ascending.
  absl::Span<const uint32_t> blocks(uint64_t mini) const {
    return absl::MakeSpan(blocks_).subspan(begins_[mini],
                                           begins_[mini + 1] - begins_[mini]);
  }
  uint64_t records(uint64_t mini) const { return records_[mini]; }
  PartRecords::Run RunOf(uint32_t block) const;

  // Into how many blocks a table is cut; 2^32 at most, by larger ones.
  static uint64_t BlocksOf(const RecordTable& table, uint64_t& block_bytes);

 private:
  // The file's blocks [begin, end) of all.
  struct Stratum {
    uint64_t number = 0;
    size_t begin = 0;
    size_t end = 0;
    size_t size() const { return end - begin; }
  };
  void Deal(const Input& input, const std::vector<uint32_t>& blocks);
  // Which mini-epoch each of its blocks is of.
  void DealStratum(const Input& input, const Stratum& stratum,
                   std::vector<uint32_t>& mini_of) const;
  // Blocks that are drawn together.
  uint64_t RunLength(const Stratum& stratum) const;

  const RecordTable* table_;
  uint64_t block_bytes_;
  uint64_t first_block_;
  std::vector<uint32_t> blocks_;  // by mini-epoch
  std::vector<uint64_t> begins_;  // in blocks_, by mini-epoch, and the end
  std::vector<uint64_t> records_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_BLOCK_PASS_H_
