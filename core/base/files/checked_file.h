// SPDX-License-Identifier: Apache-2.0
// Binary files with a version and a checksum (XXH3, 64 bits). Numbers are
// little-endian. The columns of numbers follow the header without gaps:
//
//     0  8  magic
//     8  4  version
//    12  4  bytes of the header
//    16  8  checksum of everything behind it
//    24     the rest of the header: how many numbers each column has, and more
//           columns of numbers
//
// A file is input like any other. It may be cut off, damaged, or made by
// somebody else. An accepted file is as long as its counts say, and the reader
// never allocates more than that. A matching checksum proves nothing about who
// wrote the file, so the caller checks what the numbers mean.
#ifndef SHUFFLEFS_CORE_BASE_FILES_CHECKED_FILE_H_
#define SHUFFLEFS_CORE_BASE_FILES_CHECKED_FILE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they are");

struct CheckedFormat {
  absl::string_view magic;  // 8 bytes
  uint32_t version = 0;
  absl::string_view name;   // "a catalogue", as in "a catalogue of version 2"
  absl::string_view other;  // message for any other file: "not a catalogue"
  // Zeros pad each column to a multiple of this many bytes, at most 8.
  size_t align = 1;
  // The checksum covers the columns only; its seed is the checksum of the
  // header's rest.
  bool seeded = false;
};

// The first member of every header.
struct CheckedHead {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t checksum;
};

// The bytes of a string, vector or span of numbers, or of structs without gaps.
template <typename Column>
absl::string_view ColumnBytes(const Column& column) {
  using Number = std::remove_reference_t<decltype(*column.data())>;
  static_assert(std::has_unique_object_representations_v<Number>);
  return {reinterpret_cast<const char*>(column.data()),
          column.size() * sizeof(Number)};
}

// The file as pieces, which are views of the arguments. Fills in the head.
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

// CheckedReader reads the header, then the columns in order, then finishes.
// Trust nothing of the file before Finish returned OK. A plain value over
// `bytes`.
class CheckedReader {
 public:
  CheckedReader(const CheckedFormat& format, absl::string_view bytes)
      : format_(format), bytes_(bytes), rest_(bytes) {}

  // Returns InvalidArgument for another kind of file or another version.
  template <typename Header>
  absl::Status ReadHeader(Header& header) {
    static_assert(std::has_unique_object_representations_v<Header>);
    static_assert(offsetof(Header, head) == 0);
    return ReadHeader(reinterpret_cast<char*>(&header), sizeof header);
  }
  // The next `count` values of `width` bytes. If there are fewer, returns
  // nothing, and Finish will fail.
  absl::string_view TakeView(uint64_t count, size_t width);
  // The same, copied into a string or vector.
  template <typename Column>
  void Take(uint64_t count, Column& column) {
    const absl::string_view from = TakeView(count, sizeof *column.data());
    column.resize(from.size() / sizeof *column.data());
    if (!from.empty()) std::memcpy(column.data(), from.data(), from.size());
  }
  uint64_t bytes_left() const { return rest_.size(); }
  // Returns DataLoss if bytes are left or missing, or if the checksum differs.
  absl::Status Finish() const;

 private:
  absl::Status ReadHeader(char* header, size_t size);

  const CheckedFormat& format_;
  absl::string_view bytes_;
  absl::string_view rest_;  // bytes that were not taken yet
  CheckedHead head_ = {};
  bool fits_ = true;
};

class CheckedSum;

// CheckedFileReader reads the same from a file, each column into its place. So
// a large file is not in memory twice. Trust nothing of the file before Finish
// returned OK. Not thread-safe. Calls block on the disk.
class CheckedFileReader {
 public:
  // Errors name the path: those of FilePlace::Open and SizeToRead. `format`
  // outlives the reader.
  static absl::StatusOr<CheckedFileReader> Open(const CheckedFormat& format,
                                                const FilePlace& place,
                                                uint64_t most);
  CheckedFileReader(CheckedFileReader&&);
  ~CheckedFileReader();

  // As CheckedReader::ReadHeader. Also fails if the file cannot be read.
  template <typename Header>
  absl::Status ReadHeader(Header& header) {
    static_assert(std::has_unique_object_representations_v<Header>);
    static_assert(offsetof(Header, head) == 0);
    return ReadHeader(reinterpret_cast<char*>(&header), sizeof header);
  }
  // As CheckedReader::Take. A column that has no room in memory stays empty,
  // and Finish will fail.
  template <typename Column>
  void Take(uint64_t count, Column& column) {
    constexpr size_t width = sizeof *column.data();
    column.clear();
    if (!Fits(count, width)) return;
    try {
      column.reserve(count);
      MakeRoom(column.data(), count * width);
      column.resize(count);
    } catch (const std::exception&) {  // bad_alloc, length_error
      NoMemoryFor(count * width);
      return;
    }
    Read(reinterpret_cast<char*>(column.data()), count * width);
  }
  // Returns the first error of a read; ResourceExhausted if memory was missing;
  // DataLoss if bytes are left or missing, or if the checksum differs.
  absl::Status Finish();

 private:
  CheckedFileReader(const CheckedFormat& format, UniqueFd fd, uint64_t size);
  absl::Status ReadHeader(char* header, size_t size);
  bool Fits(uint64_t count, size_t width);
  void NoMemoryFor(uint64_t bytes);
  // Reads the next bytes of the file, and adds them to the checksum.
  void Read(char* into, size_t bytes);
  // Has the kernel map a column's memory on all processors, in large pages.
  static void MakeRoom(void* memory, size_t bytes);

  const CheckedFormat* format_;
  UniqueFd fd_;
  uint64_t size_;      // bytes of the file
  uint64_t read_ = 0;  // bytes from its start
  CheckedHead head_ = {};
  std::unique_ptr<CheckedSum> sum_;  // null: before the header
  absl::Status failure_;
  // Brings the file into memory, so that the device never waits for us. Ends
  // before the descriptor is closed.
  absl::optional<std::jthread> ahead_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_CHECKED_FILE_H_
