// SPDX-License-Identifier: Apache-2.0
#include "core/io/io_buf.h"

#include <cstring>

namespace shufflefs {

void IoBuf::Append(const iovec& piece) {
  if (piece.iov_len == 0) return;
  const uint64_t begin = size();
  const uintptr_t origin = reinterpret_cast<uintptr_t>(piece.iov_base) - begin;
  if (pieces_.empty() || pieces_.back().origin != origin) {
    pieces_.push_back({origin, begin});
  }
  pieces_.back().end = begin + piece.iov_len;
  const auto last = static_cast<uint32_t>(pieces_.size() - 1);
  const uint64_t slots = ((pieces_.back().end - 1) >> kSlotBits) + 1;
  slots_.resize(std::max<uint64_t>(slots_.size(), slots), last);
}

void IoBuf::Append(absl::Span<const iovec> pieces) {
  for (const iovec& piece : pieces) Append(piece);
}

void IoBuf::AppendUpTo(absl::Span<const iovec> pieces, uint64_t bytes) {
  for (const iovec& piece : pieces) {
    const size_t take = std::min<uint64_t>(piece.iov_len, bytes);
    Append(iovec{piece.iov_base, take});
    bytes -= take;
  }
}

std::vector<iovec> IoBuf::Range(uint64_t offset, uint64_t length) const {
  std::vector<iovec> range;
  ForEach(offset, length, [&range](absl::Span<char> piece) {
    range.push_back(iovec{piece.data(), piece.size()});
  });
  return range;
}

void IoBuf::Read(uint64_t offset, uint64_t length, char* to) const {
  ForEach(offset, length, [&to](absl::Span<char> piece) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  });
}

std::string IoBuf::Read(uint64_t offset, uint64_t length) const {
  std::string bytes(length, '\0');
  Read(offset, length, bytes.data());
  return bytes;
}

void IoBuf::Write(uint64_t offset, const char* bytes, uint64_t length) const {
  ForEach(offset, length, [&bytes](absl::Span<char> piece) {
    std::memcpy(piece.data(), bytes, piece.size());
    bytes += piece.size();
  });
}

void Copy(const IoBuf& from, uint64_t from_offset, const IoBuf& to,
          uint64_t to_offset, uint64_t length) {
  from.ForEach(from_offset, length, [&](absl::Span<char> piece) {
    to.Write(to_offset, piece.data(), piece.size());
    to_offset += piece.size();
  });
}

}  // namespace shufflefs
