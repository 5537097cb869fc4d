// SPDX-License-Identifier: Apache-2.0
#include "core/pool/memory/paged_bytes.h"

#include <cstring>

namespace shufflefs {

void PagedBytes::Append(absl::Span<const iovec> pieces) {
  uint64_t pages = pages_.size();
  for (const iovec& piece : pieces) pages += piece.iov_len / Arena::kPage;
  pages_.reserve(pages);
  for (const iovec& piece : pieces) {
    char* const base = static_cast<char*>(piece.iov_base);
    for (size_t at = 0; at < piece.iov_len; at += Arena::kPage) {
      pages_.push_back(base + at);
    }
  }
}

std::vector<iovec> PagedBytes::Range(uint64_t offset, uint64_t length) const {
  std::vector<iovec> range;
  while (length > 0) {
    const uint64_t take = std::min(LeftOfPage(offset), length);
    char* const begin = at(offset);
    if (!range.empty() &&
        static_cast<char*>(range.back().iov_base) + range.back().iov_len ==
            begin) {
      range.back().iov_len += take;
    } else {
      range.push_back(iovec{begin, take});
    }
    offset += take;
    length -= take;
  }
  return range;
}

void PagedBytes::Read(uint64_t offset, uint64_t length, char* to) const {
  while (length > 0) {
    const uint64_t take = std::min(LeftOfPage(offset), length);
    std::memcpy(to, at(offset), take);
    to += take;
    offset += take;
    length -= take;
  }
}

std::string PagedBytes::Read(uint64_t offset, uint64_t length) const {
  std::string bytes(length, '\0');
  Read(offset, length, bytes.data());
  return bytes;
}

void PagedBytes::Write(uint64_t offset, const char* bytes,
                       uint64_t length) const {
  while (length > 0) {
    const uint64_t take = std::min(LeftOfPage(offset), length);
    std::memcpy(at(offset), bytes, take);
    offset += take;
    bytes += take;
    length -= take;
  }
}

void Copy(const PagedBytes& from, uint64_t from_offset, const PagedBytes& to,
          uint64_t to_offset, uint64_t length) {
  while (length > 0) {
    const uint64_t take = std::min(PagedBytes::LeftOfPage(from_offset), length);
    to.Write(to_offset, from.at(from_offset), take);
    from_offset += take;
    to_offset += take;
    length -= take;
  }
}

}  // namespace shufflefs
