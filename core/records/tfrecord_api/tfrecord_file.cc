// SPDX-License-Identifier: Apache-2.0
#include "core/records/tfrecord_api/tfrecord_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/formats/tfrecord/tfrecord_frame.h"
#include "core/formats/tfrecord/tfrecord_scanner.h"
#include "core/records/index/index_file.h"
#include "core/records/index/offset_table_builder.h"

namespace shufflefs {
namespace {

constexpr uint64_t kScanBytes = uint64_t{1} << 20;

// Returns whether the open file is the one that was to be indexed.
bool IsStill(int fd, const IndexedFile& indexed) {
  struct stat st;
  return fstat(fd, &st) == 0 && LastingIdentityOf(fd, st) == indexed.identity;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TfrecordFile>> TfrecordFile::Open(
    const std::string& path, const Options& options) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  std::shared_ptr<TfrecordFile> file(new TfrecordFile(path, std::move(fd)));
  RETURN_IF_ERROR(file->FindRecords(options));
  return std::shared_ptr<const TfrecordFile>(std::move(file));
}

absl::Status TfrecordFile::FindRecords(const Options& options) {
  struct stat st;
  if (fstat(fd_.get(), &st) != 0) return ErrnoStatus(errno, path_);
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": not a file"));
  }
  const IndexedFile indexed = {.format = "tfrecord",
                               .identity = LastingIdentityOf(fd_.get(), st)};
  if (!options.saved.empty()) {
    absl::StatusOr<RecordIndex> saved = LoadRecordIndex(options.saved, indexed);
    if (saved.ok()) {
      table_ = std::move(saved->table);
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(table_, Scan(indexed.identity.size));
  if (!IsStill(fd_.get(), indexed)) {
    return ErrnoStatus(
        ESTALE,
        absl::StrCat(path_, ": it changed while its records were found"));
  }
  if (options.saved.empty()) return absl::OkStatus();
  const absl::Status saved =
      SaveRecordIndex(options.saved, RecordIndex{indexed, table_});
  if (!saved.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("index not saved: ", saved.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const OffsetTable>> TfrecordFile::Scan(
    uint64_t file_bytes) const {
  posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const auto scanner = MakeTfrecordScanner(file_bytes);
  OffsetTableBuilder builder;
  std::vector<char> buffer(std::min(kScanBytes, file_bytes));
  absl::Status scanned;
  for (uint64_t at = 0; at < file_bytes && scanned.ok(); at += buffer.size()) {
    const absl::Span<char> now =
        absl::MakeSpan(buffer).subspan(0, file_bytes - at);
    RETURN_IF_ERROR(ReadAt(at, now));
    scanned = scanner->Feed({now.data(), now.size()}, builder);
  }
  if (scanned.ok()) scanned = scanner->Finish(builder);
  if (!scanned.ok()) return Annotate(scanned, path_);
  posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_NORMAL);
  return builder.Finish();
}

absl::Status TfrecordFile::ReadAt(uint64_t offset,
                                  absl::Span<char> into) const {
  while (!into.empty()) {
    const ssize_t got =
        pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path_);
    if (got == 0) {
      return absl::DataLossError(
          absl::StrCat(path_, ": the file ends at byte ", offset,
                       ", it was longer when its records were found"));
    }
    offset += static_cast<uint64_t>(got);
    into.remove_prefix(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TfrecordFile::Read(uint64_t instance) const {
  if (instance >= count()) {
    return absl::OutOfRangeError(absl::StrCat(path_, ": there is no instance ",
                                              instance, ", it has ", count()));
  }
  const uint64_t begin = table_->begin(instance);
  std::string frame(table_->bytes(instance), '\0');
  RETURN_IF_ERROR(ReadAt(begin, absl::MakeSpan(frame)));
  const absl::StatusOr<absl::string_view> data = TfrecordData(frame, begin);
  if (!data.ok()) return Annotate(data.status(), path_);
  return std::string(*data);
}

}  // namespace shufflefs
