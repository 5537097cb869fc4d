// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/tar_header.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// A field of the block.
struct Field {
  size_t at;
  size_t bytes;
};
constexpr Field kName = {0, 100};
constexpr Field kSize = {124, 12};
constexpr Field kChecksum = {148, 8};
constexpr size_t kType = 156;
constexpr Field kUstarMagic = {257, 6};
constexpr Field kPrefix = {345, 155};

absl::string_view Get(absl::string_view block, Field field) {
  return block.substr(field.at, field.bytes);
}

// A text field up to its first NUL, if there is one.
absl::string_view Text(absl::string_view field) {
  return field.substr(0, field.find('\0'));
}

absl::optional<uint64_t> Octal(absl::string_view field) {
  field = Text(field);
  while (absl::ConsumePrefix(&field, " ")) continue;
  while (absl::ConsumeSuffix(&field, " ")) continue;
  if (field.empty()) return absl::nullopt;
  uint64_t value = 0;  // no field has more than 12 digits
  for (const char c : field) {
    if (c < '0' || c > '7') return absl::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

// GNU's form for numbers that octal digits cannot hold: 0x80, then the number,
// most significant byte first.
absl::optional<uint64_t> Number(absl::string_view field) {
  if (field[0] != '\x80') return Octal(field);
  uint64_t value = 0;
  for (const char c : field.substr(1)) {
    if (value > std::numeric_limits<uint64_t>::max() >> 8) {
      return absl::nullopt;
    }
    value = value << 8 | static_cast<uint8_t>(c);
  }
  return value;
}

// The sum of all bytes, with spaces in place of the checksum.
template <typename Byte>
int64_t Sum(absl::string_view block) {
  int64_t sum = 0;
  for (const char c : block) sum += static_cast<Byte>(c);
  for (const char c : Get(block, kChecksum)) sum -= static_cast<Byte>(c);
  return sum + static_cast<int64_t>(kChecksum.bytes) * ' ';
}

absl::Status RefusedTar(absl::string_view why) {
  return absl::FailedPreconditionError(why);
}

absl::Status Disputed() {
  return RefusedTar("a header that programs read in different ways");
}

absl::StatusOr<TarHeader::Kind> KindOf(char type) {
  switch (type) {
    case '\0':  // V7
    case '0':
    case '7':  // contiguous, which no reader treats differently
      return TarHeader::Kind::kFile;
    case '5':
      return TarHeader::Kind::kDirectory;
    case 'L':
      return TarHeader::Kind::kLongName;
    case 'K':
      return TarHeader::Kind::kLongLink;
    case 'x':
      return TarHeader::Kind::kExtended;
    case 'g':
      return RefusedTar("a pax global header");
    case '1':
      return RefusedTar("a hard link");
    case '2':
      return RefusedTar("a symbolic link");
    case '3':
    case '4':
    case '6':
      return RefusedTar("a device or pipe");
    case 'S':
      return RefusedTar("a sparse member");
    default:
      return RefusedTar(
          absl::StrCat("a member of type '",
                       absl::CHexEscape(absl::string_view(&type, 1)), "'"));
  }
}

absl::Status SetName(absl::string_view block, TarHeader& header) {
  header.name = std::string(Text(Get(block, kName)));
  const absl::string_view prefix = Text(Get(block, kPrefix));
  if (prefix.empty()) return absl::OkStatus();
  // In GNU's format times may be here, which Python takes for a prefix.
  if (Get(block, kUstarMagic) != absl::string_view("ustar\0", 6)) {
    return Disputed();
  }
  header.name = absl::StrCat(prefix, "/", header.name);
  return absl::OkStatus();
}

}  // namespace

bool IsZeroTarBlock(absl::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == 0; });
}

bool HasTarChecksum(absl::string_view block) {
  const absl::optional<uint64_t> stored = Octal(Get(block, kChecksum));
  if (!stored) return false;
  const auto sum = static_cast<int64_t>(*stored);
  // Some old programs summed signed bytes.
  return Sum<uint8_t>(block) == sum || Sum<int8_t>(block) == sum;
}

absl::StatusOr<TarHeader> ParseTarHeader(absl::string_view block) {
  if (!HasTarChecksum(block)) {
    return absl::DataLossError("its checksum is wrong");
  }
  TarHeader header;
  ASSIGN_OR_RETURN(header.kind, KindOf(block[kType]));
  const absl::optional<uint64_t> size = Number(Get(block, kSize));
  if (!size) return absl::DataLossError("its size is invalid");
  header.size = *size;
  if (header.kind != TarHeader::Kind::kFile &&
      header.kind != TarHeader::Kind::kDirectory) {
    return header;  // its name does not matter
  }
  RETURN_IF_ERROR(SetName(block, header));
  // V7 had no type for directories.
  if (block[kType] == '\0' && absl::EndsWith(Text(Get(block, kName)), "/")) {
    header.kind = TarHeader::Kind::kDirectory;
  }
  return header;
}

absl::StatusOr<PaxFields> ParsePaxRecords(absl::string_view records) {
  const absl::Status broken =
      absl::DataLossError("its pax records are invalid");
  PaxFields fields;
  while (!records.empty()) {  // "21 path=some/where.x\n"
    const size_t space = records.find(' ');
    uint64_t length = 0;
    if (space == absl::string_view::npos || space == 0 ||
        !absl::ascii_isdigit(records[0]) ||
        !absl::SimpleAtoi(records.substr(0, space), &length) ||
        length < space + 2 || length > records.size() ||
        records[length - 1] != '\n') {
      return broken;
    }
    const absl::string_view text =
        records.substr(space + 1, length - 1 - (space + 1));
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) return broken;
    const absl::string_view key = text.substr(0, equals);
    const absl::string_view value = text.substr(equals + 1);
    if (absl::StartsWith(key, "GNU.sparse.")) {
      return RefusedTar("a sparse member");
    }
    if (key == "path") fields.path = std::string(value);
    if (key == "size") {
      uint64_t size = 0;
      if (value.empty() || !absl::ascii_isdigit(value[0]) ||
          !absl::SimpleAtoi(value, &size)) {
        return broken;
      }
      fields.size = size;
    }
    records.remove_prefix(length);
  }
  return fields;
}

}  // namespace shufflefs
