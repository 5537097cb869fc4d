// SPDX-License-Identifier: Apache-2.0
// Records that are lines of text: LIBSVM, JSONL, CSV. A record is a line with
// its '\n', and with the '\r' before that if there is one; an empty line is a
// record of its own. A byte order mark stays in front of the first record.
#ifndef SHUFFLEFS_CORE_FORMATS_LINES_SCANNER_H_
#define SHUFFLEFS_CORE_FORMATS_LINES_SCANNER_H_

#include <cstdint>
#include <memory>

#include "core/formats/record_scanner.h"

namespace shufflefs {

struct LinesOptions {
  // So many records at the start of the file are a header: they stay.
  uint64_t header_lines = 0;
  // The lines are CSV (RFC 4180), so '"' has a meaning. Without it no line is
  // looked into, but for NUL bytes.
  bool csv = false;
  // A '\n' inside double quotes belongs to its record. Implies `csv`.
  bool csv_quoted = false;
};

// What Feed and Finish refuse as FailedPrecondition:
// - a NUL byte: this is no text;
// - with `csv` alone, a line with an odd number of '"';
// - with `csv_quoted`, a '"' that does not follow or precede a separator (one
//   of , ; | and tab), so that readers do not agree on what is quoted, and one
//   that is never closed;
// - at the end, a last line without '\n' in a file that has an empty line:
//   the empty line, if it became the last, would be nothing.
class LinesScanner : public RecordScanner {
 public:
  // Whether the last record has no '\n'; valid after Finish. The bytes of the
  // file say the same: such a file ends in something else. Another record that
  // becomes the last has to give it its terminator: "\r\n" if it ends so,
  // else "\n".
  virtual bool last_is_open() const = 0;
};

std::unique_ptr<LinesScanner> MakeLinesScanner(const LinesOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_LINES_SCANNER_H_
