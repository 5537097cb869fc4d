// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/thrift_compact.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr uint8_t kStop = 0;
constexpr int kVarintBytes = 10;  // for 64 bits

bool IsType(uint8_t number) { return number >= 1 && number <= 13; }

bool IsBool(ThriftType type) {
  return type == ThriftType::kTrue || type == ThriftType::kFalse;
}

uint64_t ZigZag(int64_t number) {
  return static_cast<uint64_t>(number) << 1 ^
         static_cast<uint64_t>(number >> 63);
}

int64_t UnZigZag(uint64_t number) {
  return static_cast<int64_t>(number >> 1 ^ (0 - (number & 1)));
}

}  // namespace

absl::Status ThriftCompact::Damaged(size_t at) const {
  return absl::DataLossError(
      absl::StrCat("its metadata is invalid at byte ", file_offset_ + at));
}

absl::StatusOr<uint8_t> ThriftCompact::Byte(size_t& at) const {
  if (at >= bytes_.size()) return Damaged(bytes_.size());
  return static_cast<uint8_t>(bytes_[at++]);
}

absl::StatusOr<uint64_t> ThriftCompact::Varint(size_t& at) const {
  const size_t begin = at;
  uint64_t number = 0;
  for (int i = 0; i < kVarintBytes; ++i) {
    ASSIGN_OR_RETURN(const uint8_t byte, Byte(at));
    if (i == kVarintBytes - 1 && byte > 1) break;
    number |= uint64_t{byte & 0x7FU} << 7 * i;
    if (byte < 0x80) return number;
  }
  return Damaged(begin);
}

absl::Status ThriftCompact::SkipBytes(uint64_t count, size_t& at) const {
  if (count > bytes_.size() - at) return Damaged(at);
  at += count;
  return absl::OkStatus();
}

absl::StatusOr<ThriftCompact::Collection> ThriftCompact::CollectionHeader(
    size_t& at) const {
  const size_t begin = at;
  ASSIGN_OR_RETURN(const uint8_t header, Byte(at));
  // Some writers give an empty list no type.
  if (header != 0 && !IsType(header & 0x0F)) return Damaged(begin);
  Collection collection = {static_cast<ThriftType>(header & 0x0F),
                           uint64_t{header} >> 4};
  if (collection.count == 15) {
    ASSIGN_OR_RETURN(collection.count, Varint(at));
  }
  // Every element takes at least one byte.
  if (collection.count > bytes_.size() - at) return Damaged(begin);
  return collection;
}

absl::Status ThriftCompact::SkipElement(ThriftType type, size_t& at,
                                        int depth) const {
  return IsBool(type) ? SkipBytes(1, at) : Skip(type, at, depth);
}

absl::Status ThriftCompact::SkipMap(size_t& at, int depth) const {
  const size_t begin = at;
  ASSIGN_OR_RETURN(const uint64_t count, Varint(at));
  if (count == 0) return absl::OkStatus();  // an empty map has no types either
  ASSIGN_OR_RETURN(const uint8_t types, Byte(at));
  const uint8_t key = types >> 4;
  const uint8_t value = types & 0x0F;
  if (!IsType(key) || !IsType(value) || count > (bytes_.size() - at) / 2) {
    return Damaged(begin);
  }
  for (uint64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(SkipElement(static_cast<ThriftType>(key), at, depth));
    RETURN_IF_ERROR(SkipElement(static_cast<ThriftType>(value), at, depth));
  }
  return absl::OkStatus();
}

absl::Status ThriftCompact::Skip(ThriftType type, size_t& at, int depth) const {
  switch (type) {
    case ThriftType::kTrue:
    case ThriftType::kFalse:
      return absl::OkStatus();
    case ThriftType::kByte:
      return SkipBytes(1, at);
    case ThriftType::kI16:
    case ThriftType::kI32:
    case ThriftType::kI64:
      return Varint(at).status();
    case ThriftType::kDouble:
      return SkipBytes(8, at);
    case ThriftType::kUuid:
      return SkipBytes(16, at);
    case ThriftType::kBinary: {
      ASSIGN_OR_RETURN(const uint64_t length, Varint(at));
      return SkipBytes(length, at);
    }
    default:
      break;
  }
  if (depth == 0) return Damaged(at);
  if (type == ThriftType::kMap) return SkipMap(at, depth - 1);
  if (type == ThriftType::kStruct) {
    ASSIGN_OR_RETURN(at, WalkFields(at, depth - 1, nullptr));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Collection collection, CollectionHeader(at));
  for (uint64_t i = 0; i < collection.count; ++i) {
    RETURN_IF_ERROR(SkipElement(collection.element, at, depth - 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> ThriftCompact::WalkFields(size_t begin, int depth,
                                                 const Field* visit) const {
  size_t at = begin;
  int64_t id = 0;
  while (true) {
    const size_t header_at = at;
    ASSIGN_OR_RETURN(const uint8_t header, Byte(at));
    if (header == kStop) return at;
    const int64_t before = id;
    if (header >> 4 != 0) {
      id += header >> 4;
    } else {
      ASSIGN_OR_RETURN(const uint64_t coded, Varint(at));
      id = UnZigZag(coded);
    }
    if (!IsType(header & 0x0F) || id <= before || id > INT16_MAX) {
      return Damaged(header_at);
    }
    ThriftValue value = {static_cast<ThriftType>(header & 0x0F), at, at};
    RETURN_IF_ERROR(Skip(value.type, at, depth));
    value.end = at;
    if (visit != nullptr) {
      RETURN_IF_ERROR((*visit)(static_cast<int>(id), value));
    }
  }
}

absl::StatusOr<size_t> ThriftCompact::VisitFields(size_t begin,
                                                  const Field& visit) const {
  return WalkFields(begin, kMaxDepth, &visit);
}

absl::Status ThriftCompact::VisitElements(const ThriftValue& list,
                                          ThriftType element,
                                          const Element& visit) const {
  if (list.type != ThriftType::kList) return Damaged(list.begin);
  size_t at = list.begin;
  ASSIGN_OR_RETURN(const Collection collection, CollectionHeader(at));
  // The type of an empty list has no meaning.
  if (collection.count > 0 && collection.element != element) {
    return Damaged(list.begin);
  }
  for (uint64_t i = 0; i < collection.count; ++i) {
    ThriftValue value = {element, at, at};
    RETURN_IF_ERROR(SkipElement(element, at, kMaxDepth));
    value.end = at;
    RETURN_IF_ERROR(visit(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ThriftCompact::Integer(const ThriftValue& value,
                                               ThriftType type) const {
  if (value.type != type) return Damaged(value.begin);
  size_t at = value.begin;
  ASSIGN_OR_RETURN(const uint64_t coded, Varint(at));
  return UnZigZag(coded);
}

absl::StatusOr<absl::string_view> ThriftCompact::Binary(
    const ThriftValue& value) const {
  if (value.type != ThriftType::kBinary) return Damaged(value.begin);
  size_t at = value.begin;
  ASSIGN_OR_RETURN(const uint64_t length, Varint(at));
  const size_t begin = at;
  RETURN_IF_ERROR(SkipBytes(length, at));
  return bytes_.substr(begin, length);
}

size_t ThriftIntegerBytes(int64_t number) {
  size_t bytes = 1;
  for (uint64_t left = ZigZag(number); left >= 0x80; left >>= 7) ++bytes;
  return bytes;
}

void AppendThriftInteger(int64_t number, std::string& bytes) {
  uint64_t left = ZigZag(number);
  for (; left >= 0x80; left >>= 7) {
    bytes += static_cast<char>(left | 0x80);
  }
  bytes += static_cast<char>(left);
}

}  // namespace shufflefs
