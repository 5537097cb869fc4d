// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/scatter.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/string_view.h"
#include "core/staging/pack/pack_format.h"

namespace shufflefs {

void Scatter::Append(const iovec& piece) {
  if (piece.iov_len == 0) return;
  ends_.push_back(size() + piece.iov_len);
  pieces_.push_back(piece);
}

void Scatter::AppendUpTo(absl::Span<const iovec> pieces, uint64_t bytes) {
  for (const iovec& piece : pieces) {
    const size_t take = std::min<uint64_t>(piece.iov_len, bytes);
    Append(iovec{piece.iov_base, take});
    bytes -= take;
  }
}

void Scatter::Visit(uint64_t offset, uint64_t length,
                    const std::function<void(absl::Span<char>)>& visit) const {
  auto at = static_cast<size_t>(
      std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
  for (; length > 0; ++at) {
    const iovec& piece = pieces_[at];
    const uint64_t into = offset - (ends_[at] - piece.iov_len);
    const uint64_t take = std::min(piece.iov_len - into, length);
    visit(absl::Span<char>(static_cast<char*>(piece.iov_base) + into, take));
    offset += take;
    length -= take;
  }
}

void Copy(const Scatter& from, uint64_t from_offset, const Scatter& to,
          uint64_t to_offset, uint64_t length) {
  from.Visit(from_offset, length, [&](absl::Span<char> source) {
    const char* next = source.data();
    to.Visit(to_offset, source.size(), [&next](absl::Span<char> target) {
      std::memcpy(target.data(), next, target.size());
      next += target.size();
    });
    to_offset += source.size();
  });
}

uint64_t PackCheckOf(const Scatter& bytes, uint64_t offset, uint64_t length) {
  uint64_t check = 0;
  XXH3_state_t* state = nullptr;  // only if there are several pieces
  bytes.Visit(offset, length, [&](absl::Span<char> piece) {
    if (piece.size() == length) {
      check = PackCheck(absl::string_view(piece.data(), length));
      return;
    }
    if (state == nullptr) {
      state = XXH3_createState();
      XXH3_64bits_reset(state);
    }
    XXH3_64bits_update(state, piece.data(), piece.size());
  });
  if (state == nullptr) return check;
  check = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return check;
}

}  // namespace shufflefs
