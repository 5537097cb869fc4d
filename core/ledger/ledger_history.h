// SPDX-License-Identifier: Apache-2.0
// The last epochs of every view, gathered from a ledger's records.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_HISTORY_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_HISTORY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/word_file.h"
#include "core/ledger/ledger_pass.h"
#include "core/ledger/ledger_reader.h"

namespace shufflefs {

// Appends each record it is shown to `file`, until one fails.
class LedgerCopier : public LedgerVisitor {
 public:
  explicit LedgerCopier(WordFile& file) : file_(file) {}

  void OnEpoch(const LedgerEpoch& epoch) override;
  void OnConsumed(uint8_t view, uint64_t sample) override;
  void OnShown(uint8_t view, const CarriedPair& pair) override;
  void OnBound(uint8_t view, const PackedPairs& pairs) override;
  void OnOpens(uint8_t view, const LedgerOpens& opens) override;
  void OnHold(const LedgerHold& hold) override;
  void OnSwitch(const LedgerSwitch& change) override;

  const absl::Status& status() const { return status_; }

 private:
  WordFile& file_;
  absl::Status status_;
};

// How many epochs of a view are kept. One at least, the last.
struct LedgerKeep {
  uint64_t epochs = 16;
  // Of pairs. Where those of a reactive view take more only two epochs are
  // kept, or as many as fit.
  uint64_t pair_bytes = 32 << 20;
};

// Keeps the last epochs of each view. Not thread-safe. Memory: 16 bytes at
// most for a sample consumed without a name, PackedPairs for one with.
class LedgerHistory : public LedgerVisitor {
 public:
  explicit LedgerHistory(LedgerKeep keep) : keep_(keep) {}

  void OnEpoch(const LedgerEpoch& epoch) override;
  void OnConsumed(uint8_t view, uint64_t sample) override;
  void OnShown(uint8_t view, const CarriedPair& pair) override;
  void OnBound(uint8_t view, const PackedPairs& pairs) override;
  void OnOpens(uint8_t view, const LedgerOpens& opens) override;
  void OnHold(const LedgerHold& hold) override;
  void OnSwitch(const LedgerSwitch& change) override;

  // By the views' numbers, the paths of those whose last epoch goes on.
  absl::flat_hash_map<uint8_t, std::string> running() const;
  // Appends everything kept to `file`. What was visited next can be appended
  // behind it as it stood: the views' numbers mean the same.
  absl::Status WriteTo(WordFile& file);

  // The last epoch of a view that `fits`.
  absl::optional<LedgerState> Find(
      absl::string_view view_path,
      absl::FunctionRef<bool(const LedgerPass&)> fits);

  // The last epoch of each view, by the view's path; empties the history.
  absl::flat_hash_map<std::string, LedgerState> TakeLast();

 private:
  struct Kept {
    LedgerPass pass;
    std::vector<LedgerSwitch> switches;  // at most kMaxNotes
  };
  static constexpr size_t kMaxNotes = 1024;

  // The running epoch of view number `view`, or null.
  Kept* Running(uint8_t view);
  void Begin(Kept next);

  const LedgerKeep keep_;
  std::array<std::string, 256> path_of_;  // of the view with a number
  std::array<bool, 256> used_{};
  // By path: the numbers of views change with the configuration.
  absl::flat_hash_map<std::string, std::deque<Kept>> views_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_HISTORY_H_
