// SPDX-License-Identifier: Apache-2.0
// The footer of an Arrow IPC file (also Feather, version 2): a flatbuffer that
// lists the record batches as blocks of 24 bytes (offset, size of metadata,
// size of body), the size of the flatbuffer (4 bytes), and "ARROW1". Putting
// the blocks in another order shuffles the batches.
//
// Dictionaries stay in place, wherever in the file they are: "In the file
// format, there is no requirement that dictionary keys should be defined in a
// DictionaryBatch before they are used in a RecordBatch", none may be replaced,
// and "delta dictionaries are applied in the order they appear in the file
// footer" (Columnar.rst, IPC file format). So a reader of the file format has
// all of them before it reads a batch, and a delta only appends to them.
//
// Readers of the file format take the blocks in the order of the list (tested:
// pyarrow 26 and polars 2.1, also with a memory mapping and compressed bodies).
// No reader was found that requires ascending offsets. A reader that reads the
// stream inside the file instead of its footer gets the batches in the source's
// order.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_FILE_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_FILE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/columnar/columnar_footer.h"

namespace shufflefs {

// Number of bytes at the end of the file that say where its footer begins.
inline constexpr uint64_t kArrowTailBytes = 10;

// Returns whether a file that begins with `head` may be an Arrow IPC file
// (checks 8 bytes). Many files named .arrow are streams:
// core/formats/columnar/arrow_stream.h.
bool LooksLikeArrowFile(absl::string_view head);

// The size of the file's footer, including its tail. `tail` is the last
// kArrowTailBytes. Errors: DataLoss if they are no tail; FailedPrecondition if
// the footer is larger than 256 MiB.
absl::StatusOr<uint64_t> ArrowFooterBytes(absl::string_view tail);

// `footer_and_tail` is that many bytes at the end of a file of `file_bytes`.
// Errors: those of ColumnarFooter.
absl::StatusOr<std::unique_ptr<ColumnarFooter>> ParseArrowFooter(
    absl::string_view footer_and_tail, uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_ARROW_FILE_H_
