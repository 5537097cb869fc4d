// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_part.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/io/file_reader.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the columns are copied as they are");
static_assert(kTierPage == kReadAlignment);

constexpr char kMagic[8] = {'S', 'H', 'U', 'F', 'T', 'I', 'E', 'R'};
constexpr uint32_t kVersion = 3;
constexpr char kPrefix[] = "part-";
constexpr char kFinished[] = ".tier";
constexpr char kUnfinished[] = ".new";
constexpr size_t kDigits = 16;

struct FiledRange {
  uint64_t entry;
  uint64_t from;
  uint64_t offset;
  uint64_t length;
};

struct Footer {
  uint64_t tail_at;
  uint64_t ranges;
  uint64_t checks;
  uint64_t state;
  uint64_t nothing;  // 0
  uint32_t version;
  uint32_t footer_bytes;
  char magic[8];
  uint64_t checksum;  // over everything from tail_at to here
};
static_assert(sizeof(Footer) == kTierFooterBytes);
static_assert(std::has_unique_object_representations_v<Footer>);

uint64_t Sum(absl::string_view tail) {
  return XXH3_64bits(tail.data(), tail.size() - sizeof(uint64_t));
}

absl::Status Senseless(uint64_t number, absl::string_view why) {
  return absl::DataLossError(absl::StrCat("range ", number, ": ", why));
}

absl::StatusOr<Footer> ReadFooter(absl::string_view bytes) {
  Footer footer;
  if (bytes.size() < sizeof footer) {
    return absl::DataLossError("too short for a part");
  }
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof footer,
              sizeof footer);
  if (std::memcmp(footer.magic, kMagic, sizeof kMagic) != 0) {
    return absl::InvalidArgumentError("not a part of a tier, or cut off");
  }
  if (footer.version != kVersion || footer.footer_bytes != sizeof footer) {
    return absl::InvalidArgumentError(
        absl::StrCat("a part of version ", footer.version, ", not ", kVersion));
  }
  return footer;
}

// Ranges must follow each other before the table, each with its checks.
absl::Status CheckPlaces(const TierTable& table, uint64_t data_bytes) {
  uint64_t end = 0;
  uint64_t checks = 0;
  std::vector<std::pair<EntryId, uint64_t>> beginnings;
  for (size_t i = 0; i < table.ranges.size(); ++i) {
    const auto& [range, offset] = table.ranges[i];
    if (offset % kTierPage != 0 || offset < end) {
      return Senseless(i, "begins where it cannot");
    }
    if (range.length == 0 || offset >= data_bytes ||
        range.length > data_bytes - offset) {
      return Senseless(i, "is longer than the part");
    }
    if (range.from % kTierPage != 0 ||
        range.from > std::numeric_limits<uint64_t>::max() - range.length) {
      return Senseless(i, "is where no file has one");
    }
    end = offset + range.length;
    checks += TierChecksOf(range.length);
    beginnings.emplace_back(range.file, range.from);
  }
  if (checks != table.checks.size()) {
    return absl::DataLossError("the number of checksums is wrong");
  }
  std::sort(beginnings.begin(), beginnings.end());
  if (std::adjacent_find(beginnings.begin(), beginnings.end()) !=
      beginnings.end()) {
    return absl::DataLossError("holds a range twice");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t TierTailBytes(uint64_t ranges, uint64_t checks) {
  return TierRoundUp(ranges * sizeof(FiledRange) + checks * sizeof(uint64_t) +
                     sizeof(Footer));
}

void AppendTierChecks(absl::string_view bytes, std::vector<uint64_t>& checks) {
  for (size_t at = 0; at < bytes.size(); at += kTierCheckBytes) {
    const absl::string_view piece = bytes.substr(at, kTierCheckBytes);
    checks.push_back(XXH3_64bits(piece.data(), piece.size()));
  }
}

std::string SerializeTierTail(const TierTable& table, uint64_t data_bytes) {
  std::string tail(TierTailBytes(table.ranges.size(), table.checks.size()),
                   '\0');
  char* at = tail.data();
  for (const auto& [range, offset] : table.ranges) {
    const FiledRange filed = {range.file.value(), range.from, offset,
                              range.length};
    std::memcpy(at, &filed, sizeof filed);
    at += sizeof filed;
  }
  if (!table.checks.empty()) {
    std::memcpy(at, table.checks.data(),
                table.checks.size() * sizeof(uint64_t));
  }
  Footer footer = {};
  footer.tail_at = data_bytes;
  footer.ranges = table.ranges.size();
  footer.checks = table.checks.size();
  footer.state = table.state;
  footer.version = kVersion;
  footer.footer_bytes = sizeof footer;
  std::copy(std::begin(kMagic), std::end(kMagic), footer.magic);
  char* const end = tail.data() + tail.size();
  std::memcpy(end - sizeof footer, &footer, sizeof footer);
  footer.checksum = Sum(tail);
  std::memcpy(end - sizeof footer.checksum, &footer.checksum,
              sizeof footer.checksum);
  return tail;
}

absl::StatusOr<uint64_t> TierTailAt(absl::string_view bytes,
                                    uint64_t part_bytes) {
  ASSIGN_OR_RETURN(const Footer footer, ReadFooter(bytes));
  // Allocates nothing before these numbers are known to fit.
  if (footer.tail_at > part_bytes || footer.tail_at % kTierPage != 0 ||
      footer.ranges == 0 || footer.ranges > part_bytes / sizeof(FiledRange) ||
      footer.checks > part_bytes / sizeof(uint64_t) ||
      part_bytes - footer.tail_at !=
          TierTailBytes(footer.ranges, footer.checks)) {
    return absl::DataLossError("not as long as its footer says");
  }
  return footer.tail_at;
}

absl::StatusOr<TierTable> ParseTierTail(absl::string_view tail,
                                        uint64_t part_bytes) {
  ASSIGN_OR_RETURN(const uint64_t tail_at, TierTailAt(tail, part_bytes));
  if (tail.size() != part_bytes - tail_at) {
    return absl::DataLossError("cut off");
  }
  ASSIGN_OR_RETURN(const Footer footer, ReadFooter(tail));
  if (Sum(tail) != footer.checksum) {
    return absl::DataLossError("the checksum of its table differs");
  }
  TierTable table;
  table.state = footer.state;
  const char* at = tail.data();
  for (uint64_t i = 0; i < footer.ranges; ++i) {
    FiledRange filed;
    std::memcpy(&filed, at, sizeof filed);
    at += sizeof filed;
    if (filed.entry > std::numeric_limits<uint32_t>::max()) {
      return Senseless(i, "is no entry");
    }
    table.ranges.push_back({{EntryId(static_cast<uint32_t>(filed.entry)),
                             filed.from, filed.length},
                            filed.offset});
  }
  table.checks.resize(footer.checks);
  if (footer.checks > 0) {
    std::memcpy(table.checks.data(), at, footer.checks * sizeof(uint64_t));
  }
  RETURN_IF_ERROR(CheckPlaces(table, tail_at));
  return table;
}

std::string TierPartName(uint64_t id) {
  return absl::StrFormat("%s%016x%s", kPrefix, id, kFinished);
}

std::string TierUnfinishedName(uint64_t id) {
  return absl::StrFormat("%s%016x%s", kPrefix, id, kUnfinished);
}

absl::optional<TierName> ParseTierName(absl::string_view name) {
  if (!absl::StartsWith(name, kPrefix)) return absl::nullopt;
  TierName parsed;
  const absl::string_view digits = name.substr(sizeof kPrefix - 1, kDigits);
  if (!absl::SimpleHexAtoi(digits, &parsed.id)) return absl::nullopt;
  parsed.finished = absl::EndsWith(name, kFinished);
  // Refuses what the parser accepts: capitals, signs, fewer digits, another
  // end.
  if (name != (parsed.finished ? TierPartName(parsed.id)
                               : TierUnfinishedName(parsed.id))) {
    return absl::nullopt;
  }
  return parsed;
}

}  // namespace shufflefs
