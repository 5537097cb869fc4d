// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/flatbuffer_table.h"

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr size_t kRootBytes = 4;        // where the root table is
constexpr size_t kVtableHeadBytes = 4;  // its size, and that of the table

}  // namespace

absl::Status FlatbufferTable::Damaged(size_t at) const {
  return absl::DataLossError(
      absl::StrCat("its metadata is invalid at byte ", file_offset_ + at));
}

absl::StatusOr<FlatbufferTable> FlatbufferTable::Root(absl::string_view buffer,
                                                      uint64_t file_offset) {
  FlatbufferTable table(buffer, file_offset);
  ASSIGN_OR_RETURN(const uint32_t root, table.Read<uint32_t>(0));
  ASSIGN_OR_RETURN(const int32_t back, table.Read<int32_t>(root));
  // The table says how far before or after it its vtable is.
  const int64_t vtable = int64_t{root} - back;
  if (vtable < 0) return table.Damaged(root);
  table.table_ = root;
  table.vtable_ = static_cast<uint64_t>(vtable);
  ASSIGN_OR_RETURN(table.vtable_bytes_, table.Read<uint16_t>(table.vtable_));
  ASSIGN_OR_RETURN(table.table_bytes_,
                   table.Read<uint16_t>(table.vtable_ + sizeof(uint16_t)));
  if (table.vtable_bytes_ < kVtableHeadBytes ||
      table.vtable_bytes_ % sizeof(uint16_t) != 0 ||
      table.vtable_bytes_ > buffer.size() - table.vtable_) {
    return table.Damaged(table.vtable_);
  }
  if (table.table_bytes_ < sizeof back ||
      table.table_bytes_ > buffer.size() - table.table_) {
    return table.Damaged(table.table_);
  }
  return table;
}

absl::StatusOr<absl::optional<size_t>> FlatbufferTable::Find(
    int field, size_t bytes) const {
  const size_t entry = kVtableHeadBytes + sizeof(uint16_t) * field;
  // The file has an older schema.
  if (entry >= vtable_bytes_) return absl::nullopt;
  ASSIGN_OR_RETURN(const uint16_t place, Read<uint16_t>(vtable_ + entry));
  if (place == 0) return absl::nullopt;
  if (place > table_bytes_ || bytes > size_t{table_bytes_} - place) {
    return Damaged(vtable_ + entry);
  }
  return table_ + place;
}

absl::StatusOr<absl::optional<FlatbufferVector>> FlatbufferTable::Vector(
    int field, size_t element_bytes) const {
  ASSIGN_OR_RETURN(const absl::optional<size_t> at,
                   Find(field, sizeof(uint32_t)));
  if (!at) return absl::nullopt;
  ASSIGN_OR_RETURN(const uint32_t forward, Read<uint32_t>(*at));
  const uint64_t vector = *at + uint64_t{forward};
  ASSIGN_OR_RETURN(const uint32_t count, Read<uint32_t>(vector));
  const uint64_t begin = vector + sizeof count;
  if (count > (buffer_.size() - begin) / element_bytes) return Damaged(vector);
  return FlatbufferVector{begin, count};
}

bool FlatbufferTable::Overlaps(size_t begin, size_t end) const {
  const auto meets = [begin, end](uint64_t from, uint64_t bytes) {
    return begin < from + bytes && from < end;
  };
  return meets(0, kRootBytes) || meets(table_, table_bytes_) ||
         meets(vtable_, vtable_bytes_);
}

}  // namespace shufflefs
