// SPDX-License-Identifier: Apache-2.0
// Arena is the pool's memory: one region of a fixed size, allocated in pages
// that need not be adjacent. So it never fragments, and its bound is exact.
#ifndef SHUFFLEFS_CORE_POOL_MEMORY_ARENA_H_
#define SHUFFLEFS_CORE_POOL_MEMORY_ARENA_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"

namespace shufflefs {

class Arena;

// BlockOwner hears of a block's end.
class BlockOwner {
 public:
  virtual ~BlockOwner() = default;
  // Called after the arena got the pages back. Any thread calls it, with any
  // lock held.
  virtual void Freed(uint64_t bytes) = 0;
};

// A block owns some pages of an arena and gives them back when it is destroyed.
// The arena may be destroyed first: its memory lives as long as the last block.
class MemoryBlock {
 public:
  MemoryBlock(MemoryBlock&& other) = default;
  ~MemoryBlock();

  // Runs of pages, in order; together at least the bytes asked for. Bases and
  // lengths are multiples of kReadAlignment.
  const std::vector<iovec>& pieces() const { return pieces_; }
  // The bytes [offset, offset + length) of the block. REQUIRES: they are
  // within.
  std::vector<iovec> Range(uint64_t offset, uint64_t length) const;
  // The block keeps its owner. Call at most once.
  void SetOwner(std::shared_ptr<BlockOwner> owner) {
    owner_ = std::move(owner);
  }

 private:
  friend class Arena;
  struct Region;
  MemoryBlock(std::shared_ptr<Region> region, std::vector<iovec> pieces)
      : region_(std::move(region)), pieces_(std::move(pieces)) {}

  std::shared_ptr<Region> region_;  // null when moved from
  std::vector<iovec> pieces_;
  std::shared_ptr<BlockOwner> owner_;  // null: nobody wants to know
};

// Thread-safe. Nothing blocks. The kernel provides the memory when it is first
// used; it is kept.
class Arena {
 public:
  static constexpr size_t kPage = 4096;

  // Rounds `bytes` down to whole pages. Errors: those of mmap.
  static absl::StatusOr<std::unique_ptr<Arena>> Make(uint64_t bytes);
  ~Arena();

  // Returns null if fewer than `bytes` bytes are free. REQUIRES: bytes > 0.
  std::unique_ptr<MemoryBlock> Allocate(uint64_t bytes);
  // The bytes of memory that a block of `bytes` bytes takes.
  static uint64_t Footprint(uint64_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
  }
  uint64_t capacity() const;
  uint64_t used() const;
  absl::Span<char> memory() const;

 private:
  explicit Arena(std::shared_ptr<MemoryBlock::Region> region);
  const std::shared_ptr<MemoryBlock::Region> region_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_MEMORY_ARENA_H_
