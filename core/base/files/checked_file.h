// SPDX-License-Identifier: Apache-2.0
// Binary files with a version and a checksum (XXH3, 64 bits); little-endian:
//     0  8  magic
//     8  4  version
//    12  4  bytes of the header
//    16  8  checksum of what follows
//    24     the rest of the header: how many numbers each column has, and more
//           columns of numbers, one behind the other
// A file is input like any other: cut off, damaged, or made by somebody else.
// What passes is as long as its counts say, and never is more allocated than
// that. A checksum that fits proves nothing about who wrote the file: what the
// numbers mean is checked by the caller.
#ifndef SHUFFLEFS_CORE_BASE_FILES_CHECKED_FILE_H_
#define SHUFFLEFS_CORE_BASE_FILES_CHECKED_FILE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace shufflefs {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they are");

struct CheckedFormat {
  absl::string_view magic;  // 8 bytes
  uint32_t version = 0;
  absl::string_view name;   // "a catalogue", in: a catalogue of version 2
  absl::string_view other;  // what any other file is told: "not a catalogue"
  // Zeros behind each column make it a multiple of so many bytes, at most 8.
  size_t align = 1;
  // The checksum is that of the columns, seeded with that of the header's rest.
  bool seeded = false;
};

// The first member of every header.
struct CheckedHead {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t checksum;
};

// Of a string, vector or span of numbers, or of structs without gaps.
template <typename Column>
absl::string_view ColumnBytes(const Column& column) {
  using Number = std::remove_reference_t<decltype(*column.data())>;
  static_assert(std::has_unique_object_representations_v<Number>);
  return {reinterpret_cast<const char*>(column.data()),
          column.size() * sizeof(Number)};
}

// The file in pieces, which are views of the arguments. Fills in the head.
std::vector<absl::string_view> SealedPieces(
    const CheckedFormat& format, char* header, size_t header_bytes,
    absl::Span<const absl::string_view> columns);
template <typename Header>
std::vector<absl::string_view> SealedPieces(
    const CheckedFormat& format, Header& header,
    absl::Span<const absl::string_view> columns) {
  static_assert(std::has_unique_object_representations_v<Header>);
  static_assert(offsetof(Header, head) == 0);
  return SealedPieces(format, reinterpret_cast<char*>(&header), sizeof header,
                      columns);
}

// Reads the header, then column by column in their order, then finishes: only
// then is anything of it to be believed. A plain value over `bytes`.
class CheckedReader {
 public:
  CheckedReader(const CheckedFormat& format, absl::string_view bytes)
      : format_(format), bytes_(bytes), rest_(bytes) {}

  // InvalidArgument if it is another kind of file, or of another version.
  template <typename Header>
  absl::Status ReadHeader(Header& header) {
    static_assert(std::has_unique_object_representations_v<Header>);
    static_assert(offsetof(Header, head) == 0);
    return ReadHeader(reinterpret_cast<char*>(&header), sizeof header);
  }
  // The next `count` values of `width` bytes; nothing, and Finish fails, where
  // there are fewer.
  absl::string_view TakeView(uint64_t count, size_t width);
  // The same, copied into a string or vector.
  template <typename Column>
  void Take(uint64_t count, Column& column) {
    const absl::string_view from = TakeView(count, sizeof *column.data());
    column.resize(from.size() / sizeof *column.data());
    if (!from.empty()) std::memcpy(column.data(), from.data(), from.size());
  }
  uint64_t bytes_left() const { return rest_.size(); }
  // DataLoss if the columns are not all of the file, or the checksum differs.
  absl::Status Finish() const;

 private:
  absl::Status ReadHeader(char* header, size_t size);

  const CheckedFormat& format_;
  absl::string_view bytes_;
  absl::string_view rest_;  // behind what was taken
  CheckedHead head_ = {};
  bool fits_ = true;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_CHECKED_FILE_H_
