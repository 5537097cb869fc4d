// SPDX-License-Identifier: Apache-2.0
// Makes and checks one record of a TFRecord file (tfrecord_scanner.h describes
// its bytes). Pure functions.
#ifndef SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FRAME_H_
#define SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FRAME_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// Appends the record of `data`, which takes 16 bytes more.
void AppendTfrecord(absl::string_view data, std::string* file);

// The data of a record. `frame` is all of the record, which is at byte `offset`
// of a file. DataLoss, which names that byte, if a checksum differs or if the
// record has another length than it says.
absl::StatusOr<absl::string_view> TfrecordData(absl::string_view frame,
                                               uint64_t offset);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FRAME_H_
