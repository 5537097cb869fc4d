// SPDX-License-Identifier: Apache-2.0
// Collects the last epochs of every view from a ledger's records.
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
#include "core/base/files/append_log.h"
#include "core/ledger/ledger_pass.h"
#include "core/ledger/ledger_reader.h"

namespace shufflefs {

// Appends each record that it visits to `file`, many at a time, until one
// append fails.
class LedgerCopier : public LedgerVisitor {
 public:
  explicit LedgerCopier(AppendLog& file) : file_(file) {}

  void OnEpoch(const LedgerEpoch& epoch) override;
  void OnConsumed(uint8_t view, uint64_t sample) override;
  void OnShown(uint8_t view, const NameBinding& pair) override;
  void OnBound(uint8_t view, const PackedPairs& pairs) override;
  void OnOpens(uint8_t view, const LedgerOpens& opens) override;
  void OnContainers(uint8_t view, const LedgerContainers& read) override;
  void OnHold(const LedgerHold& hold) override;
  void OnSwitch(const LedgerSwitch& change) override;

  // Appends what is left. Returns the first error.
  absl::Status Finish();

 private:
  // Where the next record will stand.
  uint64_t next() const { return file_.size() + words_.size(); }
  void Put(absl::Span<const uint64_t> record);
  void Add(const absl::StatusOr<ledger_format::Words>& record);

  AppendLog& file_;
  ledger_format::Words words_;  // not appended yet
  absl::Status status_;
};

// How many epochs of a view are kept. At least one, the last.
struct LedgerKeep {
  uint64_t epochs = 16;
  // Bytes of pairs. If the pairs of a reactive view take more, only as many
  // epochs are kept as fit, but at least two.
  uint64_t pair_bytes = 32 << 20;
};

// Keeps the last epochs of each view. Not thread-safe. Memory: at most 16 bytes
// for a sample that was consumed without a name, PackedPairs for the others.
class LedgerHistory : public LedgerVisitor {
 public:
  explicit LedgerHistory(LedgerKeep keep) : keep_(keep) {}

  void OnEpoch(const LedgerEpoch& epoch) override;
  void OnConsumed(uint8_t view, uint64_t sample) override;
  void OnShown(uint8_t view, const NameBinding& pair) override;
  void OnBound(uint8_t view, const PackedPairs& pairs) override;
  void OnOpens(uint8_t view, const LedgerOpens& opens) override;
  void OnContainers(uint8_t view, const LedgerContainers& read) override;
  void OnHold(const LedgerHold& hold) override;
  void OnSwitch(const LedgerSwitch& change) override;

  // By number: the paths of views whose last epoch continues.
  absl::flat_hash_map<uint8_t, std::string> running() const;
  // Appends everything kept to `file`. Records that follow those visited can be
  // appended behind it unchanged, because the views' numbers mean the same.
  absl::Status WriteTo(AppendLog& file);

  // The last epoch of a view for which `fits` is true.
  absl::optional<LedgerState> Find(
      absl::string_view view_path,
      absl::FunctionRef<bool(const LedgerPass&)> fits);

  // The last epoch of each view, by the view's path. Empties the history.
  absl::flat_hash_map<std::string, LedgerState> TakeLast();

 private:
  struct Kept {
    LedgerPass pass;
    std::vector<LedgerSwitch> switches;  // at most kMaxNotes
  };
  static constexpr size_t kMaxNotes = 1024;

  // The current epoch of view number `view`, or null.
  Kept* Running(uint8_t view);
  void Begin(Kept next);

  const LedgerKeep keep_;
  std::array<std::string, 256> path_of_;  // of the view with that number
  std::array<bool, 256> used_{};
  // By path, because the numbers of views change with the configuration.
  absl::flat_hash_map<std::string, std::deque<Kept>> views_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_HISTORY_H_
