// SPDX-License-Identifier: Apache-2.0
// Finds the record batches of an Arrow IPC stream. A message is: 4 bytes of
// ones, the size of its metadata (4 bytes), its metadata (a flatbuffer,
// padded), and its body. A record here is the message of a record batch.
// Everything before the first (schema, dictionaries) and after the last (the
// end-of-stream marker, and anything behind it) stays in place.
//
// Refused are:
// * dictionaries between the batches, because a batch is read with those before
//   it;
// * streams of Arrow before 0.15, which have no ones;
// * messages whose size is not a multiple of 8, as the format requires. They
//   would move others off their alignment, and readers that map the file rely
//   on it.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_STREAM_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_STREAM_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/formats/record_scanner.h"

namespace shufflefs {

// Enough of a stream for LooksLikeArrowStream.
inline constexpr uint64_t kArrowStreamHeadBytes = 512;

// For a file of `file_bytes`. An empty file has no records. A stream may end
// without its marker, but not inside a message. The metadata of a message is
// held in memory while it is read, at most 64 MiB.
std::unique_ptr<RecordScanner> MakeArrowStreamScanner(uint64_t file_bytes);

// Returns whether a file that begins with `head` begins with a schema message.
// `head` is the first kArrowStreamHeadBytes bytes, or all of the file.
bool LooksLikeArrowStream(absl::string_view head);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_STREAM_H_
