// SPDX-License-Identifier: Apache-2.0
// PagedBytes finds the bytes of a MemoryBlock by their offset. If many small
// pieces are copied to or from scattered pages, it finds each place at once. It
// is a plain value and does not own the memory.
#ifndef SHUFFLEFS_CORE_POOL_MEMORY_PAGED_BYTES_H_
#define SHUFFLEFS_CORE_POOL_MEMORY_PAGED_BYTES_H_

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/pool/memory/arena.h"

namespace shufflefs {

class PagedBytes {
 public:
  PagedBytes() = default;
  // REQUIRES: the pieces are whole pages, as MemoryBlock::pieces() are.
  explicit PagedBytes(absl::Span<const iovec> pieces) { Append(pieces); }
  void Append(absl::Span<const iovec> pieces);

  uint64_t size() const { return pages_.size() * Arena::kPage; }
  // The byte at `offset`, followed by the rest of its page. REQUIRES: offset <
  // size().
  char* at(uint64_t offset) const {
    return pages_[offset / Arena::kPage] + offset % Arena::kPage;
  }
  static uint64_t LeftOfPage(uint64_t offset) {
    return Arena::kPage - offset % Arena::kPage;
  }
  // The bytes [offset, offset + length); adjacent pages share one iovec.
  // REQUIRES: they are within.
  std::vector<iovec> Range(uint64_t offset, uint64_t length) const;
  // REQUIRES, for all of these: the bytes are within.
  void Read(uint64_t offset, uint64_t length, char* to) const;
  std::string Read(uint64_t offset, uint64_t length) const;
  void Write(uint64_t offset, const char* bytes, uint64_t length) const;

 private:
  std::vector<char*> pages_;
};

// REQUIRES: both ranges are within, and do not overlap.
void Copy(const PagedBytes& from, uint64_t from_offset, const PagedBytes& to,
          uint64_t to_offset, uint64_t length);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_MEMORY_PAGED_BYTES_H_
