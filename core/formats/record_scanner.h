// SPDX-License-Identifier: Apache-2.0
// RecordScanner finds the records of a container in one pass over its bytes.
// Every format whose records differ in size implements it. A scanner is a state
// machine without I/O.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_SCANNER_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_SCANNER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// Hashes of the names in a file, to be compared with those of another one whose
// records are mixed with its own. In increasing order, each once. The lowest
// bit of a hash is no part of it: it marks a name that stays in its file.
using NameHashes = std::vector<uint64_t>;
inline constexpr uint64_t kNameStays = 1;

// Receives the records as they are found, in file order.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // The first record begins at byte `offset` of the file. Called once, before
  // the first Add. Never called for a file without records.
  virtual void Begin(uint64_t offset) = 0;
  // The next record begins where the previous one ended and has `bytes` bytes,
  // > 0.
  virtual void Add(uint64_t bytes) = 0;
};

// Not thread-safe; one object per file. After an error neither method is called
// again. Errors do not name the file. FailedPrecondition: this file must not be
// shuffled, and why ("hard links"). DataLoss: it is damaged, and at which byte.
class RecordScanner {
 public:
  virtual ~RecordScanner() = default;
  // The next bytes of the file, any number of them, in order and without a gap
  // except for those that Skip passed over. Calls `sink` for records whose last
  // byte was seen, or whose end follows from what was seen.
  virtual absl::Status Feed(absl::string_view bytes, RecordSink& sink) = 0;
  // How many of the next bytes need only be counted, whatever their values. All
  // of them are in the file.
  virtual uint64_t unread() const { return 0; }
  // Replaces Feed for bytes that need not be read. REQUIRES: `bytes` <=
  // unread().
  virtual void Skip(uint64_t /*bytes*/) {}
  // The file has ended. Bytes that were not added to `sink` by now stay in
  // place, after the last record.
  virtual absl::Status Finish(RecordSink& sink) = 0;
  // The names that were found, for a format with has_names(). They are at least
  // as many as the records. Called at most once, after Finish.
  virtual NameHashes TakeNames() { return {}; }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_SCANNER_H_
