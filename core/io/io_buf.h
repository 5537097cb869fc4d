// SPDX-License-Identifier: Apache-2.0
// IoBuf addresses bytes that lie in several pieces of memory by one offset. The
// pool's memory is scattered pages, and the destination of a read may be any
// pieces.
#ifndef SHUFFLEFS_CORE_IO_IO_BUF_H_
#define SHUFFLEFS_CORE_IO_IO_BUF_H_

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace shufflefs {

// A plain value; it does not own the memory. Time to find a byte: O(1) if the
// pieces are no shorter than a page. REQUIRES, of all offsets and lengths: the
// bytes are within.
class IoBuf {
 public:
  IoBuf() = default;
  explicit IoBuf(absl::Span<const iovec> pieces) { Append(pieces); }
  void Append(const iovec& piece);
  void Append(absl::Span<const iovec> pieces);
  // Appends at most the first `bytes` bytes of `pieces`.
  void AppendUpTo(absl::Span<const iovec> pieces, uint64_t bytes);

  uint64_t size() const { return pieces_.empty() ? 0 : pieces_.back().end; }

  // The byte at `offset`; those behind it follow up to the end of its piece.
  // REQUIRES: offset < size().
  char* at(uint64_t offset) const {
    return pieces_[PieceOf(offset)].at(offset);
  }
  // Calls `visit` with an absl::Span<char> for each piece of [offset, offset +
  // length), in order.
  template <typename Visit>
  void ForEach(uint64_t offset, uint64_t length, Visit&& visit) const {
    if (length == 0) return;
    for (uint32_t i = PieceOf(offset); length > 0; ++i) {
      const uint64_t take = std::min(pieces_[i].end - offset, length);
      visit(absl::Span<char>(pieces_[i].at(offset), take));
      offset += take;
      length -= take;
    }
  }
  std::vector<iovec> Range(uint64_t offset, uint64_t length) const;
  void Read(uint64_t offset, uint64_t length, char* to) const;
  std::string Read(uint64_t offset, uint64_t length) const;
  void Write(uint64_t offset, const char* bytes, uint64_t length) const;

 private:
  static constexpr int kSlotBits = 12;  // of a page

  struct Piece {
    uintptr_t origin = 0;  // where offset 0 would be
    uint64_t end = 0;      // offset of the piece's end
    char* at(uint64_t offset) const {
      return reinterpret_cast<char*>(origin + offset);
    }
  };
  uint32_t PieceOf(uint64_t offset) const {
    uint32_t piece = slots_[offset >> kSlotBits];
    while (offset >= pieces_[piece].end) ++piece;
    return piece;
  }

  std::vector<Piece> pieces_;
  std::vector<uint32_t> slots_;  // by page of offsets: the piece of its first
};

// REQUIRES: both ranges are within, and do not overlap.
void Copy(const IoBuf& from, uint64_t from_offset, const IoBuf& to,
          uint64_t to_offset, uint64_t length);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_IO_BUF_H_
