// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/index_file.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/whole_file.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the words are copied as they are");

constexpr char kIndexMagic[8] = {'S', 'H', 'U', 'F', 'R', 'I', 'X', '\n'};
constexpr uint32_t kIndexVersion = 2;

// The file: this, then the words of the table.
struct IndexHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t checksum;  // of all that follows
  FileIdentity identity;
  uint64_t count;
  uint64_t first;
  uint64_t end;
  char format[kMostFormatBytes + 1];  // ends with NUL, and with nothing else
};
static_assert(offsetof(IndexHeader, checksum) == kRecordIndexChecksumAt);
static_assert(sizeof(IndexHeader) % sizeof(uint64_t) == 0);
static_assert(std::has_unique_object_representations_v<IndexHeader>);
constexpr uint64_t kIndexRounding = 1024;  // its words are whole
constexpr size_t kIndexCovered = kRecordIndexChecksumAt + sizeof(uint64_t);

// Of the part of the header that the checksum covers, and of the words.
uint64_t IndexChecksum(const IndexHeader& header, absl::string_view words) {
  const auto* bytes = reinterpret_cast<const char*>(&header);
  const uint64_t head =
      XXH3_64bits(bytes + kIndexCovered, sizeof header - kIndexCovered);
  return XXH3_64bits_withSeed(words.data(), words.size(), head);
}

absl::Status Fits(const IndexedFile& found, const IndexedFile& expected) {
  if (found.format != expected.format) {
    return absl::FailedPreconditionError(
        absl::StrCat("an index of the format '", found.format, "', not '",
                     expected.format, "'"));
  }
  if (found.identity.size != expected.identity.size) {
    return absl::FailedPreconditionError(
        absl::StrCat("an index of a file of ", found.identity.size,
                     " bytes, which has ", expected.identity.size, " now"));
  }
  if (found.identity != expected.identity) {
    return absl::FailedPreconditionError(
        "an index of a file that was written or replaced since");
  }
  return absl::OkStatus();
}

absl::StatusOr<IndexHeader> CheckedHeader(absl::string_view bytes) {
  IndexHeader header;
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), kIndexMagic, sizeof kIndexMagic) != 0) {
    return absl::InvalidArgumentError("holds no index of records");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kIndexVersion || header.header_bytes != sizeof header) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an index of version ", header.version, ", not ", kIndexVersion));
  }
  if (IndexChecksum(header, bytes.substr(sizeof header)) != header.checksum) {
    return absl::DataLossError("the checksum differs");
  }
  if (header.format[kMostFormatBytes] != '\0') {
    return absl::DataLossError("the name of its format has no end");
  }
  return header;
}

}  // namespace

absl::Status SaveRecordIndex(const FilePlace& place, const RecordIndex& index) {
  const IndexedFile& file = index.file;
  if (file.format.size() > kMostFormatBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.path(), ": the name of the format '", file.format,
                     "' is too long"));
  }
  IndexHeader header = {};
  std::copy(std::begin(kIndexMagic), std::end(kIndexMagic), header.magic);
  header.version = kIndexVersion;
  header.header_bytes = sizeof header;
  header.identity = file.identity;
  header.count = index.table->extent().count;
  header.first = index.table->extent().first;
  header.end = index.table->extent().end;
  std::copy(file.format.begin(), file.format.end(), header.format);
  const absl::Span<const uint64_t> table = index.table->words();
  const absl::string_view words(reinterpret_cast<const char*>(table.data()),
                                table.size() * sizeof(uint64_t));
  header.checksum = IndexChecksum(header, words);
  const absl::string_view head(reinterpret_cast<const char*>(&header),
                               sizeof header);
  return ReplaceFile(place, {head, words});
}

absl::StatusOr<RecordIndex> ParseRecordIndex(absl::string_view bytes,
                                             const IndexedFile& expected) {
  ASSIGN_OR_RETURN(const IndexHeader header, CheckedHeader(bytes));
  RecordIndex index;
  index.file = {.format = header.format, .identity = header.identity};
  RETURN_IF_ERROR(Fits(index.file, expected));
  const absl::string_view rest = bytes.substr(sizeof header);
  if (rest.size() % sizeof(uint64_t) != 0) {
    return absl::DataLossError("not as long as its header says");
  }
  if (header.end > header.identity.size) {
    return absl::DataLossError("has records beyond the end of the file");
  }
  std::vector<uint64_t> words(rest.size() / sizeof(uint64_t));
  if (!words.empty()) std::memcpy(words.data(), rest.data(), rest.size());
  const OffsetTable::Extent extent = {
      .count = header.count, .first = header.first, .end = header.end};
  ASSIGN_OR_RETURN(index.table,
                   OffsetTable::FromWords(extent, std::move(words)));
  return index;
}

absl::StatusOr<RecordIndex> LoadRecordIndex(const FilePlace& place,
                                            const IndexedFile& expected) {
  // A table takes most for records of one byte, and then a quarter of theirs.
  const uint64_t most =
      sizeof(IndexHeader) + kIndexRounding +
      std::min<uint64_t>(expected.identity.size, kMostWholeFile) / 2;
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(place, most));
  absl::StatusOr<RecordIndex> parsed = ParseRecordIndex(bytes, expected);
  if (!parsed.ok()) return Annotate(parsed.status(), place.path());
  return parsed;
}

}  // namespace shufflefs
