// SPDX-License-Identifier: Apache-2.0
// Writes a TFRecord file. It has its name only when it is whole.
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

// One thread at a time; blocks for the device. Errors as FreshFile. A writer
// that goes without Finish leaves no file.
class TfrecordWriter {
 public:
  // Of a file at `path`, which replaces one that is there when it is finished.
  [[nodiscard]] static absl::StatusOr<TfrecordWriter> Create(
      const std::string& path);

  // Appends a record: its length, the data, and the masked CRC-32C of both.
  absl::Status Add(absl::string_view data);
  // So far.
  uint64_t count() const { return count_; }
  uint64_t bytes() const { return file_.bytes(); }

  // The file is on the device, by its name. Call it once, last.
  absl::Status Finish();

 private:
  explicit TfrecordWriter(FreshFile file) : file_(std::move(file)) {}

  FreshFile file_;
  std::string frame_;
  uint64_t count_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_WRITER_H_
