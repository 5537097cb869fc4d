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

// Shorter numbers are padded with blanks in front, which the readers skip.
// Widths of 0 give the text that the programs above write; its size then
// depends on the order of the records.
struct TfrecordIndexWidths {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

// Widths with which every order of the records gives a text of the same size
// and equally long lines: offset + 1 + bytes + 1.
TfrecordIndexWidths EqualLines(const RecordTable& table);

void AppendTfrecordIndexLine(const TfrecordSpan& span,
                             const TfrecordIndexWidths& widths,
                             std::string* text);

// The index of a file that has the records of `table` in this order, from where
// the first of the table is. REQUIRES: each is less than table.count().
std::string WriteTfrecordIndex(const RecordTable& table,
                               absl::Span<const uint64_t> order,
                               const TfrecordIndexWidths& widths = {});

// Takes the next line off `text`, which is not empty, by the rules of
// ParseTfrecordIndex. Returns false if it is malformed.
bool TakeTfrecordIndexLine(absl::string_view& text, TfrecordSpan* span);

// Accepts blanks, tabs and a '\r' around the numbers, and a last line without
// an end. InvalidArgument, which names the line, for anything else.
absl::StatusOr<std::vector<TfrecordSpan>> ParseTfrecordIndex(
    absl::string_view text);

// Returns whether `text`, parsed by ParseTfrecordIndex, is the index of all
// records of the table, in file order.
bool IsTfrecordIndexOf(absl::string_view text, const RecordTable& table);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_H_
