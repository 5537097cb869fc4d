// SPDX-License-Identifier: Apache-2.0
// Reads fields of a table in the flatbuffers encoding, in which the metadata of
// Arrow IPC is written. Never reads outside the buffer, whatever it contains.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_FLATBUFFER_TABLE_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_FLATBUFFER_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/status.h"

namespace shufflefs {

static_assert(std::endian::native == std::endian::little,
              "numbers are read as they are");

// The elements of a vector, from byte `begin` of the buffer.
struct FlatbufferVector {
  size_t begin = 0;
  uint64_t count = 0;
};

// A view of the buffer, which must outlive it. Immutable. Errors are DataLoss
// and name the byte of the file.
class FlatbufferTable {
 public:
  // The root table of a buffer that begins at byte `file_offset` of the file.
  static absl::StatusOr<FlatbufferTable> Root(absl::string_view buffer,
                                              uint64_t file_offset);

  // Fields are numbered as in the schema. A union counts as two: its type and
  // its value. An absent field has its default, or is empty.
  template <typename T>
  absl::StatusOr<T> Number(int field, T otherwise) const {
    ASSIGN_OR_RETURN(const absl::optional<size_t> at, Find(field, sizeof(T)));
    if (!at) return otherwise;
    T number;
    std::memcpy(&number, buffer_.data() + *at, sizeof number);
    return number;
  }
  absl::StatusOr<absl::optional<FlatbufferVector>> Vector(
      int field, size_t element_bytes) const;

  // Returns whether one of these bytes of the buffer is a field of this table,
  // or says where one is.
  bool Overlaps(size_t begin, size_t end) const;

 private:
  FlatbufferTable(absl::string_view buffer, uint64_t file_offset)
      : buffer_(buffer), file_offset_(file_offset) {}

  absl::Status Damaged(size_t at) const;
  // The unsigned number at `at`, which may be outside the buffer.
  template <typename T>
  absl::StatusOr<T> Read(uint64_t at) const {
    if (at > buffer_.size() || buffer_.size() - at < sizeof(T)) {
      return Damaged(buffer_.size());
    }
    T number;
    std::memcpy(&number, buffer_.data() + at, sizeof number);
    return number;
  }
  // The position of the `bytes` bytes of a field.
  absl::StatusOr<absl::optional<size_t>> Find(int field, size_t bytes) const;

  // Constant after Root().
  absl::string_view buffer_;
  uint64_t file_offset_;
  uint64_t table_ = 0;
  uint16_t table_bytes_ = 0;
  uint64_t vtable_ = 0;
  uint16_t vtable_bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_FLATBUFFER_TABLE_H_
