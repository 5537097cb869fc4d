// SPDX-License-Identifier: Apache-2.0
// The last epochs of every view, gathered from a ledger's records, and how
// records are appended to a file.
#ifndef SHUFFLEFS_CORE_LEDGER_HISTORY_H_
#define SHUFFLEFS_CORE_LEDGER_HISTORY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/ledger_reader.h"
#include "core/sample_set.h"
#include "core/status.h"
#include "core/word_file.h"

namespace shufflefs {

// One epoch of a view: how it began and what was consumed in it.
struct LedgerState {
  LedgerEpoch begin;  // `epoch` is counted on by holds, `binding` is not
  SampleSet consumed;
};

// Encodes `record` for the end of `file` and appends it.
template <typename Record>
absl::Status AppendRecord(WordFile& file, const Record& record) {
  ASSIGN_OR_RETURN(const ledger_format::Words words,
                   ledger_format::Encode(record, file.size()));
  return file.Append(words);
}
// The same for an epoch and the samples consumed in it, a bit each.
absl::Status AppendState(WordFile& file, const LedgerState& state);

// Appends each record it is shown to `file`, until one fails.
class LedgerCopier : public LedgerVisitor {
 public:
  explicit LedgerCopier(WordFile& file) : file_(file) {}

  void OnEpoch(const LedgerEpoch& epoch) override;
  void OnConsumed(uint8_t view, uint64_t sample) override;
  void OnHold(const LedgerHold& hold) override;
  void OnSwitch(const LedgerSwitch& change) override;

  const absl::Status& status() const { return status_; }

 private:
  WordFile& file_;
  absl::Status status_;
};

// Keeps the last epochs of each view. Not thread-safe. Memory: 16 bytes a
// consumed sample at most, that of at most keep_epochs epochs a view.
class LedgerHistory : public LedgerVisitor {
 public:
  explicit LedgerHistory(uint64_t keep_epochs) : keep_(keep_epochs) {}

  void OnEpoch(const LedgerEpoch& epoch) override;
  void OnConsumed(uint8_t view, uint64_t sample) override;
  void OnHold(const LedgerHold& hold) override;
  void OnSwitch(const LedgerSwitch& change) override;

  // Appends everything kept to `file`. What was visited next can be appended
  // behind it as it stood: the views' numbers mean the same.
  absl::Status WriteTo(WordFile& file);

  // The last epoch of each view, by the view's path; empties the history.
  absl::flat_hash_map<std::string, LedgerState> TakeLast();

 private:
  struct Kept {
    LedgerState state;
    std::vector<LedgerSwitch> switches;  // at most kMaxNotes
  };
  static constexpr size_t kMaxNotes = 1024;

  // The running epoch of view number `view`, or null.
  Kept* Running(uint8_t view);
  void Begin(Kept next);

  const uint64_t keep_;
  std::array<std::string, 256> path_of_;  // of the view with a number
  std::array<bool, 256> used_{};
  // By path: the numbers of views change with the configuration.
  absl::flat_hash_map<std::string, std::deque<Kept>> views_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_HISTORY_H_
