// SPDX-License-Identifier: Apache-2.0
// Records that are lines of text: LIBSVM, JSONL, CSV. A record is a line with
// its '\n', and with the '\r' before that if there is one. An empty line is a
// record too. A byte order mark stays before the first record.
#ifndef SHUFFLEFS_CORE_FORMATS_LINES_SCANNER_H_
#define SHUFFLEFS_CORE_FORMATS_LINES_SCANNER_H_

#include <cstdint>
#include <memory>

#include "core/formats/record_scanner.h"

namespace shufflefs {

struct LinesOptions {
  // This many records at the start of the file are a header. They stay in
  // place.
  uint64_t header_lines = 0;
  // The lines are CSV (RFC 4180), so '"' has a meaning. Without it, lines are
  // only searched for NUL bytes.
  bool csv = false;
  // A '\n' inside double quotes belongs to its record. Implies `csv`.
  bool csv_quoted = false;
};

// Feed and Finish refuse these as FailedPrecondition:
// - a NUL byte: this is no text;
// - with `csv` alone, a line with an odd number of '"';
// - with `csv_quoted`, a '"' that does not follow or precede a separator (one
//   of , ; | and tab), because readers disagree on what is quoted, and one that
//   is never closed;
// - at the end, a last line without '\n' in a file that has an empty line: if
//   the empty line became the last, it would vanish.
class LinesScanner : public RecordScanner {
 public:
  // Returns whether the last record has no '\n'. Valid after Finish. (The
  // file's last byte shows the same.) If another record becomes the last, it
  // must give this one its terminator: "\r\n" if it ends so, else "\n".
  virtual bool last_is_open() const = 0;
};

std::unique_ptr<LinesScanner> MakeLinesScanner(const LinesOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_LINES_SCANNER_H_
