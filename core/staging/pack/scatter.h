// SPDX-License-Identifier: Apache-2.0
// Scatter addresses bytes in several pieces of memory by one offset. Plain
// value; it does not own the memory.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_SCATTER_H_
#define SHUFFLEFS_CORE_STAGING_PACK_SCATTER_H_

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace shufflefs {

class Scatter {
 public:
  Scatter() = default;
  explicit Scatter(absl::Span<const iovec> pieces) {
    for (const iovec& piece : pieces) Append(piece);
  }
  void Append(const iovec& piece);
  // Appends at most the first `bytes` bytes of `pieces`.
  void AppendUpTo(absl::Span<const iovec> pieces, uint64_t bytes);

  uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  // Calls `visit` for the pieces of [offset, offset + length), in order.
  // REQUIRES: the range is inside.
  void Visit(uint64_t offset, uint64_t length,
             const std::function<void(absl::Span<char>)>& visit) const;

 private:
  std::vector<iovec> pieces_;
  std::vector<uint64_t> ends_;  // by piece: the offset of its end
};

// REQUIRES: both ranges are inside and do not overlap.
void Copy(const Scatter& from, uint64_t from_offset, const Scatter& to,
          uint64_t to_offset, uint64_t length);

// The PackCheck of a range.
uint64_t PackCheckOf(const Scatter& bytes, uint64_t offset, uint64_t length);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_SCATTER_H_
