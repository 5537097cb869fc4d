// SPDX-License-Identifier: Apache-2.0
// Reads a ledger from its beginning, record by record. Works on a file that a
// daemon appends to at the same time: it sees a prefix.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_READER_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/ledger_opens.h"
#include "core/ledger/packed_pairs.h"

namespace shufflefs {

// Receives the records of a ledger in their order.
class LedgerVisitor {
 public:
  virtual ~LedgerVisitor() = default;
  virtual void OnEpoch(const LedgerEpoch&) {}
  // `sample` of the view's running epoch was consumed; below its names.
  virtual void OnConsumed(uint8_t /*view*/, uint64_t /*sample*/) {}
  // The same, and the name under which it was shown; below its names, too.
  virtual void OnShown(uint8_t view, const CarriedPair& pair) {
    OnConsumed(view, pair.sample);
  }
  // Pairs that the running epoch was bound to before this pass of it began,
  // or that are not consumed.
  virtual void OnBound(uint8_t /*view*/, const PackedPairs& /*pairs*/) {}
  // Opens of the running epoch in their order. The first ones of names are
  // there only where the order of what was consumed before is told again.
  virtual void OnOpens(uint8_t /*view*/, const LedgerOpens& /*opens*/) {}
  virtual void OnHold(const LedgerHold&) {}
  virtual void OnSwitch(const LedgerSwitch&) {}
};

// Not thread-safe. Memory: one record, at most what the file holds of it.
class LedgerReader {
 public:
  // Errors: those of FilePlace::Open; FailedPrecondition if it is not a ledger
  // of this version; DataLoss if its header is damaged. All name the file.
  static absl::StatusOr<std::unique_ptr<LedgerReader>> Open(FilePlace place);
  ~LedgerReader();
  LedgerReader(const LedgerReader&) = delete;
  LedgerReader& operator=(const LedgerReader&) = delete;

  // Visits what was written up to word number `end` and not yet visited. OK
  // where nothing was written yet; DataLoss, with file and offset in bytes,
  // at the first damage: what was visited before is good.
  absl::Status Run(LedgerVisitor& visitor, uint64_t end = ~uint64_t{0});

  // Words visited, the header included.
  uint64_t valid_words() const;
  // Whether the file is of the version that this program writes, not older.
  bool current() const;

 private:
  class Impl;
  LedgerReader(FilePlace place, std::unique_ptr<Impl> impl);

  const FilePlace place_;
  const std::unique_ptr<Impl> impl_;
};

// Opens the ledger and visits all of it.
absl::Status ReplayLedger(const FilePlace& place, LedgerVisitor& visitor);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_READER_H_
