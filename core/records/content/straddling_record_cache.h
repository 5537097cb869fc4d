// SPDX-License-Identifier: Apache-2.0
// StraddlingRecordCache keeps pieces of records that cross from one block into
// another. A piece that came with the block read first is kept until the other
// block is read.
//
// If blocks are read at random, at most half of all borders between two blocks
// have a piece here at a time, and a piece is half a record on average. So
// blocks of B bytes with records of R bytes need about R / 4B of the file, and
// a quarter more for cells that are not full.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_STRADDLING_RECORD_CACHE_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_STRADDLING_RECORD_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/pool/memory/buffer_pool.h"

namespace shufflefs {

// Thread-safe. Pieces lie in the pool's memory. It is taken as pieces come, and
// given back when the last one has gone. Each piece is a chain of small cells,
// so pieces of any size leave no gaps.
class StraddlingRecordCache {
 public:
  // What finds a piece takes at most so many bytes, outside the pool.
  static constexpr uint64_t kIndexBytes = 64;

  // The memory of a piece of so many bytes.
  static uint64_t Footprint(uint64_t bytes);

  // Takes memory from the first of `shares` that has some. Keeps at most
  // `most_pieces` pieces.
  StraddlingRecordCache(std::vector<std::unique_ptr<PoolShare>> shares,
                        uint64_t most_pieces);

  // Keeps the piece that begins at byte `from` of the file, if there is room.
  void Keep(uint64_t file, uint64_t from, absl::string_view piece);
  // Takes the piece out and returns it. Returns nothing if it is not here or
  // has another size.
  absl::optional<std::string> Take(uint64_t file, uint64_t from,
                                   uint64_t bytes);
  void Forget(const absl::flat_hash_set<uint64_t>& files);
  // Gives the pool some `bytes` bytes back, and drops the pieces in them.
  void GiveBack(uint64_t bytes);
  // The memory that is taken, with what finds the pieces.
  uint64_t bytes() const;
  const std::vector<std::unique_ptr<PoolShare>>& shares() const {
    return shares_;
  }

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // file, from
  struct Piece {
    uint32_t cell = 0;  // the first one
    uint32_t bytes = 0;
  };
  struct Cell;

  Cell& At(uint32_t cell) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gets more cells. Returns false if there is no memory.
  bool Grow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PutFree(uint32_t cell) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint32_t TakeFree() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Its cells are free again.
  void Drop(const Piece& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasCellFrom(const Piece& piece, uint32_t first) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ShrinkTo(size_t blocks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction; shares are self-synchronised.
  const std::vector<std::unique_ptr<PoolShare>> shares_;
  const uint64_t most_pieces_;

  mutable Mutex mu_;
  absl::flat_hash_map<Key, Piece> pieces_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<MemoryBlock>> blocks_ ABSL_GUARDED_BY(mu_);
  std::vector<char*> pages_ ABSL_GUARDED_BY(mu_);  // of the blocks
  uint32_t free_ ABSL_GUARDED_BY(mu_);             // the first free cell
  uint64_t free_count_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_STRADDLING_RECORD_CACHE_H_
