// SPDX-License-Identifier: Apache-2.0
#include "core/tiers/tier_part.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/io/file_reader.h"
#include "core/status.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the columns are copied as they are");
static_assert(kTierPage == kReadAlignment);

constexpr char kMagic[8] = {'S', 'H', 'U', 'F', 'T', 'I', 'E', 'R'};
constexpr uint32_t kVersion = 1;
constexpr char kPrefix[] = "part-";
constexpr char kFinished[] = ".tier";
constexpr char kUnfinished[] = ".new";
constexpr size_t kDigits = 16;

struct FiledFile {
  uint64_t entry;
  uint64_t offset;
  uint64_t length;
};

struct Footer {
  uint64_t tail_at;
  uint64_t files;
  uint64_t checks;
  uint64_t fingerprint;
  uint64_t nothing;  // 0
  uint32_t version;
  uint32_t footer_bytes;
  char magic[8];
  uint64_t checksum;  // of all from tail_at up to here
};
static_assert(sizeof(Footer) == kTierFooterBytes);
static_assert(std::has_unique_object_representations_v<Footer>);

uint64_t Sum(absl::string_view tail) {
  return XXH3_64bits(tail.data(), tail.size() - sizeof(uint64_t));
}

absl::Status Senseless(uint64_t number, absl::string_view why) {
  return absl::DataLossError(absl::StrCat("file ", number, ": ", why));
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

// Files one behind the other, before the table, each with its checks.
absl::Status CheckPlaces(const TierTable& table, uint64_t data_bytes) {
  uint64_t end = 0;
  uint64_t checks = 0;
  std::vector<EntryId> entries;
  for (size_t i = 0; i < table.files.size(); ++i) {
    const TierTable::File& file = table.files[i];
    if (file.offset % kTierPage != 0 || file.offset < end) {
      return Senseless(i, "begins where it cannot");
    }
    if (file.length == 0 || file.offset >= data_bytes ||
        file.length > data_bytes - file.offset) {
      return Senseless(i, "is longer than the part");
    }
    end = file.offset + file.length;
    checks += TierChecksOf(file.length);
    entries.push_back(file.entry);
  }
  if (checks != table.checks.size()) {
    return absl::DataLossError("there are checksums too many, or too few");
  }
  std::sort(entries.begin(), entries.end());
  if (std::adjacent_find(entries.begin(), entries.end()) != entries.end()) {
    return absl::DataLossError("holds a file twice");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t TierTailBytes(uint64_t files, uint64_t checks) {
  return TierRoundUp(files * sizeof(FiledFile) + checks * sizeof(uint64_t) +
                     sizeof(Footer));
}

void AppendTierChecks(absl::string_view bytes, std::vector<uint64_t>& checks) {
  for (size_t at = 0; at < bytes.size(); at += kTierCheckBytes) {
    const absl::string_view piece = bytes.substr(at, kTierCheckBytes);
    checks.push_back(XXH3_64bits(piece.data(), piece.size()));
  }
}

std::string SerializeTierTail(const TierTable& table, uint64_t data_bytes) {
  std::string tail(TierTailBytes(table.files.size(), table.checks.size()),
                   '\0');
  char* at = tail.data();
  for (const TierTable::File& file : table.files) {
    const FiledFile filed = {file.entry.value(), file.offset, file.length};
    std::memcpy(at, &filed, sizeof filed);
    at += sizeof filed;
  }
  if (!table.checks.empty()) {
    std::memcpy(at, table.checks.data(),
                table.checks.size() * sizeof(uint64_t));
  }
  Footer footer = {};
  footer.tail_at = data_bytes;
  footer.files = table.files.size();
  footer.checks = table.checks.size();
  footer.fingerprint = table.fingerprint;
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
  // Nothing is allocated before these numbers are known to fit.
  if (footer.tail_at > part_bytes || footer.tail_at % kTierPage != 0 ||
      footer.files == 0 || footer.files > part_bytes / sizeof(FiledFile) ||
      footer.checks > part_bytes / sizeof(uint64_t) ||
      part_bytes - footer.tail_at !=
          TierTailBytes(footer.files, footer.checks)) {
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
  table.fingerprint = footer.fingerprint;
  const char* at = tail.data();
  for (uint64_t i = 0; i < footer.files; ++i) {
    FiledFile filed;
    std::memcpy(&filed, at, sizeof filed);
    at += sizeof filed;
    if (filed.entry > std::numeric_limits<uint32_t>::max()) {
      return Senseless(i, "is no entry");
    }
    table.files.push_back({EntryId(static_cast<uint32_t>(filed.entry)),
                           filed.offset, filed.length});
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
  // Refuses what was forgiven: capitals, signs, fewer digits, another end.
  if (name != (parsed.finished ? TierPartName(parsed.id)
                               : TierUnfinishedName(parsed.id))) {
    return absl::nullopt;
  }
  return parsed;
}

}  // namespace shufflefs
