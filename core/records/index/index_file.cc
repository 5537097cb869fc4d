// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/index_file.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/checked_file.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr CheckedFormat kIndexFormat = {.magic = "SHUFRIX\n",
                                        .version = 2,
                                        .name = "an index",
                                        .other = "holds no index of records",
                                        .seeded = true};

// The file: this header, then the words of the table.
struct IndexHeader {
  CheckedHead head;
  FileIdentity identity;
  uint64_t count;
  uint64_t first;
  uint64_t end;
  char format[kMostFormatBytes + 1];  // a NUL and nothing else follows the name
};
constexpr uint64_t kIndexRounding = 1024;  // the table has whole words

constexpr CheckedFormat kNamesFormat = {.magic = "SHUFRNM\n",
                                        .version = 2,
                                        .name = "names of records",
                                        .other = "holds no names of records",
                                        .seeded = true};

// The file: this header, then the hashes.
struct NamesHeader {
  CheckedHead head;
  FileIdentity identity;
  uint64_t count;
  char format[kMostFormatBytes + 1];  // as in IndexHeader
};
// In its file a name takes this many bytes or more: a block of an archive.
constexpr uint64_t kLeastNamedBytes = 512;

absl::Status CheckFormatName(const FilePlace& place, const IndexedFile& file) {
  if (file.format.size() <= kMostFormatBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(place.path(),
                                                 ": the name of the format '",
                                                 file.format, "' is too long"));
}

// Which file a header is of.
template <typename Header>
absl::StatusOr<IndexedFile> FileOfHeader(const Header& header) {
  if (header.format[kMostFormatBytes] != '\0') {
    return absl::DataLossError("the name of its format does not end");
  }
  return IndexedFile{.format = header.format, .identity = header.identity};
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
        "its file was written or replaced since");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveRecordIndex(const FilePlace& place, const RecordIndex& index) {
  const IndexedFile& file = index.file;
  RETURN_IF_ERROR(CheckFormatName(place, file));
  IndexHeader header = {};
  header.identity = file.identity;
  header.count = index.table->extent().count;
  header.first = index.table->extent().first;
  header.end = index.table->extent().end;
  std::copy(file.format.begin(), file.format.end(), header.format);
  return ReplaceFile(place, SealedPieces(kIndexFormat, header,
                                         {ColumnBytes(index.table->words())}));
}

absl::StatusOr<RecordIndex> ParseRecordIndex(absl::string_view bytes,
                                             const IndexedFile& expected) {
  IndexHeader header;
  std::vector<uint64_t> words;
  CheckedReader reader(kIndexFormat, bytes);
  RETURN_IF_ERROR(reader.ReadHeader(header));
  reader.Take(reader.bytes_left() / sizeof(uint64_t), words);
  RETURN_IF_ERROR(reader.Finish());
  RecordIndex index;
  ASSIGN_OR_RETURN(index.file, FileOfHeader(header));
  RETURN_IF_ERROR(Fits(index.file, expected));
  if (header.end > header.identity.size) {
    return absl::DataLossError("has records beyond the end of the file");
  }
  const OffsetTable::Extent extent = {
      .count = header.count, .first = header.first, .end = header.end};
  ASSIGN_OR_RETURN(index.table,
                   OffsetTable::FromWords(extent, std::move(words)));
  return index;
}

absl::StatusOr<RecordIndex> LoadRecordIndex(const FilePlace& place,
                                            const IndexedFile& expected) {
  // A table is largest for records of one byte: then it has a quarter of their
  // bytes.
  const uint64_t most =
      sizeof(IndexHeader) + kIndexRounding +
      std::min<uint64_t>(expected.identity.size, kMostWholeFile) / 2;
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(place, most));
  absl::StatusOr<RecordIndex> parsed = ParseRecordIndex(bytes, expected);
  if (!parsed.ok()) return Annotate(parsed.status(), place.path());
  return parsed;
}

absl::Status SaveRecordNames(const FilePlace& place, const IndexedFile& file,
                             const NameHashes& names) {
  RETURN_IF_ERROR(CheckFormatName(place, file));
  NamesHeader header = {};
  header.identity = file.identity;
  header.count = names.size();
  std::copy(file.format.begin(), file.format.end(), header.format);
  return ReplaceFile(place,
                     SealedPieces(kNamesFormat, header, {ColumnBytes(names)}));
}

absl::StatusOr<NameHashes> ParseRecordNames(absl::string_view bytes,
                                            const IndexedFile& expected) {
  NamesHeader header;
  NameHashes names;
  CheckedReader reader(kNamesFormat, bytes);
  RETURN_IF_ERROR(reader.ReadHeader(header));
  reader.Take(header.count, names);
  RETURN_IF_ERROR(reader.Finish());
  ASSIGN_OR_RETURN(const IndexedFile file, FileOfHeader(header));
  RETURN_IF_ERROR(Fits(file, expected));
  const auto unsorted = std::adjacent_find(
      names.begin(), names.end(), [](uint64_t before, uint64_t behind) {
        return (before | kNameStays) >= (behind | kNameStays);
      });
  if (unsorted != names.end()) {
    return absl::DataLossError("its names are not in order, each once");
  }
  return names;
}

absl::StatusOr<NameHashes> LoadRecordNames(const FilePlace& place,
                                           const IndexedFile& expected) {
  const uint64_t most =
      sizeof(NamesHeader) +
      std::min<uint64_t>(expected.identity.size, kMostWholeFile) /
          kLeastNamedBytes * sizeof(uint64_t);
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(place, most));
  absl::StatusOr<NameHashes> parsed = ParseRecordNames(bytes, expected);
  if (!parsed.ok()) return Annotate(parsed.status(), place.path());
  return parsed;
}

}  // namespace shufflefs
