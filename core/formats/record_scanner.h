// SPDX-License-Identifier: Apache-2.0
// Finds the records of a container in one pass over its bytes: what every
// format whose records differ in size implements. A scanner is a state machine
// without I/O.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_SCANNER_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_SCANNER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// Takes the records as they are found, in file order.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // The first record begins here, in bytes of the file. Called once, before
  // the first Add; never for a file without records.
  virtual void Begin(uint64_t offset) = 0;
  // The next record, which begins where the one before it ended, has `bytes`
  // bytes, > 0.
  virtual void Add(uint64_t bytes) = 0;
};

// Not thread-safe; one file each. After an error neither method is called
// again. Errors, which do not name the file: FailedPrecondition: this file is
// not to be shuffled, and why ("hard links"); DataLoss: it is damaged, and at
// which byte.
class RecordScanner {
 public:
  virtual ~RecordScanner() = default;
  // The next bytes of the file, any number of them, in order and without a
  // gap but for what is passed over by Skip. Calls of `sink` are for records of
  // which the last byte was seen, or whose end follows from what was seen.
  virtual absl::Status Feed(absl::string_view bytes, RecordSink& sink) = 0;
  // How many of the next bytes are only counted, whatever they are; they are
  // all in the file.
  virtual uint64_t unread() const { return 0; }
  // In place of Feed, for bytes that need not be read. REQUIRES: `bytes` <=
  // unread().
  virtual void Skip(uint64_t /*bytes*/) {}
  // The file is over. What was not added to `sink` by its end stays where it
  // is, behind the last record.
  virtual absl::Status Finish(RecordSink& sink) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_SCANNER_H_
