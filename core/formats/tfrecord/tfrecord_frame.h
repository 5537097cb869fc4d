// SPDX-License-Identifier: Apache-2.0
// One record of a TFRecord file (tfrecord_scanner.h tells its bytes): made, and
// checked. Pure functions.
#ifndef SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FRAME_H_
#define SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FRAME_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// Appends the record that holds `data`: 16 bytes more.
void AppendTfrecord(absl::string_view data, std::string* file);

// The data of the record that is `frame`, all of it, which stands at byte
// `offset` of a file. DataLoss, naming that byte, if a checksum differs or the
// record is not as long as it says.
absl::StatusOr<absl::string_view> TfrecordData(absl::string_view frame,
                                               uint64_t offset);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FRAME_H_
