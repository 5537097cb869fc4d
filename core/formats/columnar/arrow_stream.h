// SPDX-License-Identifier: Apache-2.0
// Finds the record batches of an Arrow IPC stream. A message of it is: 4 bytes
// of ones, the size of its metadata (4 bytes), its metadata (a flatbuffer,
// padded), and its body. A record here is the message of a record batch. What
// stands before the first (schema, dictionaries) and what follows the last (the
// end-of-stream marker, and anything behind it) keeps its place.
//
// Refused: dictionaries between the batches, as a batch is read with those
// before it; streams of Arrow before 0.15, which have no ones; and messages of
// a size that is no multiple of 8, which the format asks for: they would move
// the others off their alignment, which readers that map the file rely on.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_STREAM_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_STREAM_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/formats/record_scanner.h"

namespace shufflefs {

// Enough of a stream for LooksLikeArrowStream.
inline constexpr uint64_t kArrowStreamHeadBytes = 512;

// Of a file of so many bytes. A file without a byte has no records. A stream
// may end without its marker, but not inside a message. The metadata of a
// message is held in memory while it is read, at most 64 MiB.
std::unique_ptr<RecordScanner> MakeArrowStreamScanner(uint64_t file_bytes);

// Whether a file that starts so starts with the message of a schema. `head`:
// its first kArrowStreamHeadBytes bytes, or all of it.
bool LooksLikeArrowStream(absl::string_view head);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_STREAM_H_
