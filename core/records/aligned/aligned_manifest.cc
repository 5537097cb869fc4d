// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/aligned_manifest.h"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/checked_file.h"
#include "core/base/status.h"
#include "core/formats/tfrecord/tfrecord_scanner.h"
#include "core/records/aligned/fresh_file.h"

namespace shufflefs {
namespace {

constexpr CheckedFormat kAlignedFormat = {
    .magic = "SHUFALN\n",
    .version = 2,
    .name = "a manifest",
    .other = "no manifest of page-aligned files"};
constexpr uint64_t kLeastRecord = kTfrecordHeadBytes + kTfrecordTailBytes;
// A bound for sizes of files.
constexpr uint64_t kMostBytes = uint64_t{1} << 62;

struct AlignedHeader {
  CheckedHead head;
  uint64_t page_bytes;
  uint32_t fit;
  uint32_t zero;
  uint64_t file_count;
  uint64_t names_bytes;
};
static_assert(sizeof(AlignedHeader) == 56);

struct AlignedRow {
  uint64_t padded_bytes;
  uint64_t stripped_bytes;
  uint64_t records;
  uint64_t source_identity;
  uint64_t source_pages;
  uint64_t padded_pages;
  uint64_t idx_bytes;
  uint64_t idx_checksum;
  uint32_t name_bytes;
  uint32_t zero;
};
static_assert(sizeof(AlignedRow) == 72);

absl::Status MakesNoSense(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("is invalid: ", what));
}

absl::Status CheckRow(const AlignedRow& row, absl::string_view name) {
  const bool none = row.records == 0;
  if (!IsAlignedName(name)) return MakesNoSense("a name");
  if (row.padded_bytes > kMostBytes || row.idx_bytes > kMostBytes ||
      row.stripped_bytes > row.padded_bytes || row.zero != 0 ||
      row.records > row.stripped_bytes / kLeastRecord ||
      none != (row.padded_bytes == 0) || none != (row.stripped_bytes == 0) ||
      none != (row.idx_bytes == 0) || row.source_pages < row.records ||
      row.padded_pages < row.records || row.source_pages > kMostBytes ||
      row.padded_pages > kMostBytes) {
    return MakesNoSense(absl::StrCat("the sizes of ", name));
  }
  return absl::OkStatus();
}

absl::Status CheckSize(const std::string& path, uint64_t bytes) {
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  if (S_ISREG(st.st_mode) && static_cast<uint64_t>(st.st_size) == bytes) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(path, ": is not the file of ", bytes,
                                          " bytes that was written"));
}

}  // namespace

bool IsAlignedName(absl::string_view name) {
  return !name.empty() && name.size() <= kMostAlignedNameBytes && name != "." &&
         name != ".." && name != kAlignedManifest && name != kAlignedPart &&
         !absl::EndsWith(name, kFreshSuffix) &&
         name.find_first_of(absl::string_view("/\0", 2)) ==
             absl::string_view::npos;
}

absl::StatusOr<AlignedManifest> AlignedManifest::Parse(
    absl::string_view bytes) {
  AlignedHeader header;
  CheckedReader reader(kAlignedFormat, bytes);
  RETURN_IF_ERROR(reader.ReadHeader(header));
  const auto rows = reader.TakeView(header.file_count, sizeof(AlignedRow));
  const auto names = reader.TakeView(header.names_bytes, 1);
  RETURN_IF_ERROR(reader.Finish());
  if (!std::has_single_bit(header.page_bytes) ||
      header.page_bytes > kMostBytes || header.fit > 1 || header.zero != 0) {
    return MakesNoSense("page size or fit");
  }
  AlignedManifest manifest(header.page_bytes, PageFit{header.fit});
  RETURN_IF_ERROR(manifest.AddRows(rows, names));
  return manifest;
}

absl::Status AlignedManifest::AddRows(absl::string_view rows,
                                      absl::string_view names) {
  for (; !rows.empty(); rows.remove_prefix(sizeof(AlignedRow))) {
    AlignedRow row;
    std::memcpy(&row, rows.data(), sizeof row);
    if (row.name_bytes > names.size()) return MakesNoSense("a name");
    const absl::string_view name = names.substr(0, row.name_bytes);
    names.remove_prefix(row.name_bytes);
    RETURN_IF_ERROR(CheckRow(row, name));
    if (!files_.empty() && absl::string_view(files_.back().name) >= name) {
      return MakesNoSense("the order of its names");
    }
    files_.push_back({.name = std::string(name),
                      .padded_bytes = row.padded_bytes,
                      .stripped_bytes = row.stripped_bytes,
                      .records = row.records,
                      .source_identity = row.source_identity,
                      .source_pages = row.source_pages,
                      .padded_pages = row.padded_pages,
                      .idx_bytes = row.idx_bytes,
                      .idx_checksum = row.idx_checksum});
  }
  return names.empty() ? absl::OkStatus() : MakesNoSense("bytes are left over");
}

std::string AlignedManifest::Serialize() const {
  AlignedHeader header = {};
  header.page_bytes = page_bytes_;
  header.fit = static_cast<uint32_t>(fit_);
  header.file_count = files_.size();
  std::vector<AlignedRow> rows;
  std::string names;
  for (const AlignedFile& file : files_) {
    names += file.name;
    rows.push_back({.padded_bytes = file.padded_bytes,
                    .stripped_bytes = file.stripped_bytes,
                    .records = file.records,
                    .source_identity = file.source_identity,
                    .source_pages = file.source_pages,
                    .padded_pages = file.padded_pages,
                    .idx_bytes = file.idx_bytes,
                    .idx_checksum = file.idx_checksum,
                    .name_bytes = static_cast<uint32_t>(file.name.size()),
                    .zero = 0});
  }
  header.names_bytes = names.size();
  return absl::StrJoin(
      SealedPieces(kAlignedFormat, header, {ColumnBytes(rows), names}), "");
}

absl::StatusOr<AlignedManifest> AlignedManifest::Open(
    const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kAlignedManifest);
  absl::StatusOr<std::string> bytes = ReadWholeFile(path, kMostAlignedManifest);
  if (!bytes.ok()) {
    struct stat st;
    const std::string part = absl::StrCat(directory, "/", kAlignedPart);
    if (ErrnoOf(bytes.status()) == ENOENT && lstat(part.c_str(), &st) == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          directory, ": the pack is not finished; run the same command again"));
    }
    return bytes.status();
  }
  absl::StatusOr<AlignedManifest> manifest = Parse(*bytes);
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  for (const AlignedFile& file : manifest->files()) {
    RETURN_IF_ERROR(CheckAlignedFile(directory, file));
  }
  return manifest;
}

absl::Status CheckAlignedFile(const std::string& directory,
                              const AlignedFile& file) {
  RETURN_IF_ERROR(
      CheckSize(absl::StrCat(directory, "/", file.name), file.padded_bytes));
  return CheckSize(absl::StrCat(directory, "/", file.idx_name()),
                   file.idx_bytes);
}

const AlignedFile* AlignedManifest::Find(absl::string_view name) const {
  const auto found =
      std::lower_bound(files_.begin(), files_.end(), name,
                       [](const AlignedFile& file, absl::string_view wanted) {
                         return absl::string_view(file.name) < wanted;
                       });
  return found != files_.end() && found->name == name ? &*found : nullptr;
}

void AlignedManifest::Add(AlignedFile file) {
  const auto behind = std::upper_bound(
      files_.begin(), files_.end(), file,
      [](const AlignedFile& a, const AlignedFile& b) {
        return absl::string_view(a.name) < absl::string_view(b.name);
      });
  files_.insert(behind, std::move(file));
}

}  // namespace shufflefs
