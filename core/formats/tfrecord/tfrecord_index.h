// SPDX-License-Identifier: Apache-2.0
// The index file that TFRecord readers want beside a file (NVIDIA DALI's
// tfrecord2idx, the Python package tfrecord): a line of text a record,
// "offset size\n", in file order. Both are decimal numbers of bytes; the size
// is that of the whole record, with its length and checksums. Pure functions.
#ifndef SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_H_
#define SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/formats/record_table.h"

namespace shufflefs {

struct TfrecordSpan {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool operator==(const TfrecordSpan&) const = default;
};

// Numbers with fewer digits get blanks in front, which the readers pass over.
// With the widths 0 the text is what the programs above write; its size then
// depends on the order of the records.
struct TfrecordIndexWidths {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

// Widths with which every order of the records gives a text of the same size,
// each line of it of the same size: offset + 1 + bytes + 1.
TfrecordIndexWidths EqualLines(const RecordTable& table);

void AppendTfrecordIndexLine(const TfrecordSpan& span,
                             const TfrecordIndexWidths& widths,
                             std::string* text);

// The index of a file that has the records of `table` in this order, the first
// where the first of the table is. REQUIRES: each is less than table.count().
std::string WriteTfrecordIndex(const RecordTable& table,
                               absl::Span<const uint64_t> order,
                               const TfrecordIndexWidths& widths = {});

// Takes the next line off `text`, which is not empty, as ParseTfrecordIndex
// takes it; false if it is none.
bool TakeTfrecordIndexLine(absl::string_view& text, TfrecordSpan* span);

// Takes blanks, tabs and a '\r' around the numbers, and a last line without an
// end. InvalidArgument, naming the line, for anything else.
absl::StatusOr<std::vector<TfrecordSpan>> ParseTfrecordIndex(
    absl::string_view text);

// Whether `text`, as ParseTfrecordIndex takes it, is the index of all records
// of the table, in the order of the file.
bool IsTfrecordIndexOf(absl::string_view text, const RecordTable& table);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_H_
