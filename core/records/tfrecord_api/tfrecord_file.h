// SPDX-License-Identifier: Apache-2.0
// TfrecordFile is a TFRecord file with the table of its records: it reads any
// instance by its number.
#ifndef SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_FILE_H_
#define SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/files/unique_fd.h"
#include "core/records/index/offset_table.h"

namespace shufflefs {

// Immutable; any thread may call. Every method except the accessors blocks on
// the device. Errors name the file; those of the system carry their errno.
class TfrecordFile {
 public:
  struct Options {
    // The file with the saved table (index_file.h). It is used if it fits, else
    // replaced. That it cannot be saved is logged, and no error. "" = none: the
    // file is read from end to end to find its records.
    std::string saved;
  };

  // Errors: those of open and read; InvalidArgument if `path` is no regular
  // file; DataLoss, with the byte, if it is no TFRecord file; ESTALE if it
  // changed while its records were found.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<const TfrecordFile>> Open(
      const std::string& path, const Options& options);
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<const TfrecordFile>> Open(
      const std::string& path) {
    return Open(path, Options());
  }

  uint64_t count() const { return table_->count(); }
  const OffsetTable& table() const { return *table_; }
  const std::string& path() const { return path_; }

  // The data of an instance. Both its checksums are verified. OutOfRange if
  // there is none of that number; DataLoss, naming the byte where it begins, if
  // it is damaged or cut off.
  absl::StatusOr<std::string> Read(uint64_t instance) const;

  // Fills `into` with the bytes of the file from `offset` on. DataLoss if the
  // file ends before.
  absl::Status ReadAt(uint64_t offset, absl::Span<char> into) const;

 private:
  TfrecordFile(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status FindRecords(const Options& options);
  absl::StatusOr<std::shared_ptr<const OffsetTable>> Scan(
      uint64_t file_bytes) const;

  // Constant after Open.
  const std::string path_;
  const UniqueFd fd_;
  std::shared_ptr<const OffsetTable> table_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_FILE_H_
