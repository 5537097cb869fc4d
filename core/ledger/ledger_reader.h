// SPDX-License-Identifier: Apache-2.0
// LedgerReader reads a ledger from its beginning, record by record. It also
// works on a file that a daemon appends to: it then sees a prefix.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_READER_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/ledger/ledger_containers.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/ledger_opens.h"
#include "core/ledger/packed_pairs.h"

namespace shufflefs {

// Receives the records of a ledger in order.
class LedgerVisitor {
 public:
  virtual ~LedgerVisitor() = default;
  virtual void OnEpoch(const LedgerEpoch&) {}
  // `sample` of the view's current epoch was consumed. It is below the epoch's
  // names.
  virtual void OnConsumed(uint8_t /*view*/, uint64_t /*sample*/) {}
  // The same, with the name under which it was shown. Also below its names.
  virtual void OnShown(uint8_t view, const NameBinding& pair) {
    OnConsumed(view, pair.sample);
  }
  // Pairs of the current epoch that were bound before this pass of it began, or
  // that are not consumed.
  virtual void OnBound(uint8_t /*view*/, const PackedPairs& /*pairs*/) {}
  // Opens of the current epoch in order. First opens of names are included only
  // if the order of earlier consumptions is written again.
  virtual void OnOpens(uint8_t /*view*/, const LedgerOpens& /*opens*/) {}
  virtual void OnContainers(uint8_t /*view*/, const LedgerContainers&) {}
  virtual void OnHold(const LedgerHold&) {}
  virtual void OnSwitch(const LedgerSwitch&) {}
};

// Not thread-safe. Memory: one record, at most what the file holds of it.
class LedgerReader {
 public:
  // Errors: those of FilePlace::Open; FailedPrecondition if it is no ledger of
  // a known version; DataLoss if its header is damaged. All name the file.
  static absl::StatusOr<std::unique_ptr<LedgerReader>> Open(FilePlace place);
  ~LedgerReader();
  LedgerReader(const LedgerReader&) = delete;
  LedgerReader& operator=(const LedgerReader&) = delete;

  // Visits what was written before word number `end` and not visited yet. OK if
  // nothing was written yet. At the first damage returns DataLoss, with file
  // and offset in bytes; everything visited before is good.
  absl::Status Run(LedgerVisitor& visitor, uint64_t end = ~uint64_t{0});

  // Number of visited words, including the header.
  uint64_t valid_words() const;
  // Returns whether the file has the version that this program writes, not an
  // older one.
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
