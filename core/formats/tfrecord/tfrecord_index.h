// SPDX-License-Identifier: Apache-2.0
// The index file that some TFRecord readers need beside a file (NVIDIA DALI's
// tfrecord2idx, the Python package tfrecord): one line of text per record,
// "offset size\n", in file order. Both are decimal numbers of bytes. The size
// is that of the whole record, including its length and checksums. Pure
// functions.
#ifndef SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_H_
#define SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace shufflefs {

struct TfrecordSpan {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool operator==(const TfrecordSpan&) const = default;
};

// Shorter numbers are padded with blanks in front, which the readers skip.
// Widths of 0 give the text that the programs above write; its size then
// depends on the order of the records.
struct TfrecordIndexWidths {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

void AppendTfrecordIndexLine(const TfrecordSpan& span,
                             const TfrecordIndexWidths& widths,
                             std::string* text);

// Takes the next line off `text`, which is not empty. Blanks, tabs and a '\r'
// may be around the numbers, and a last line may lack its end. Returns false if
// it is malformed.
bool TakeTfrecordIndexLine(absl::string_view& text, TfrecordSpan* span);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_H_
