// SPDX-License-Identifier: Apache-2.0
// TfrecordWriter writes a TFRecord file, which gets its name only when it is
// complete.
#ifndef SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_WRITER_H_
#define SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/records/aligned/fresh_file.h"

namespace shufflefs {

// One thread at a time. Blocks on the device. Errors: as for FreshFile. A
// writer that is destroyed without Finish leaves no file.
class TfrecordWriter {
 public:
  // Writes a file at `path`. When finished, it replaces an existing one.
  [[nodiscard]] static absl::StatusOr<TfrecordWriter> Create(
      const std::string& path);

  // Appends a record: its length, the data, and the masked CRC-32C of both.
  absl::Status Add(absl::string_view data);
  // Counts so far.
  uint64_t count() const { return count_; }
  uint64_t bytes() const { return file_.bytes(); }

  // Puts the file on the device, under its name. Call it once, last.
  absl::Status Finish();

 private:
  explicit TfrecordWriter(FreshFile file) : file_(std::move(file)) {}

  FreshFile file_;
  std::string frame_;
  uint64_t count_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_WRITER_H_
