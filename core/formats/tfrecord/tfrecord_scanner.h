// SPDX-License-Identifier: Apache-2.0
// Finds the records of a TFRecord file. A record is all of these: the length of
// its data (8 bytes, little-endian), the masked CRC-32C of these 8 bytes (4),
// the data, and the masked CRC-32C of the data (4). Both checksums are
// verified. Compressed TFRecord files are not supported.
#ifndef SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_SCANNER_H_
#define SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_SCANNER_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/formats/record_scanner.h"

namespace shufflefs {

// The bytes of a record besides its data.
inline constexpr uint64_t kTfrecordHeadBytes = 12;
inline constexpr uint64_t kTfrecordTailBytes = 4;

// For a file of `file_bytes`. An empty file has no records. DataLoss for every
// byte that belongs to no whole record.
std::unique_ptr<RecordScanner> MakeTfrecordScanner(uint64_t file_bytes);

// Returns whether a file that begins with `head` begins with a record: its
// first 12 bytes are a length and the checksum of it.
bool LooksLikeTfrecord(absl::string_view head);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_SCANNER_H_
