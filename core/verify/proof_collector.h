// SPDX-License-Identifier: Apache-2.0
// Collects the passes of a ledger for core/verify/verify.cc: how each began,
// and what was consumed in it.
#ifndef SHUFFLEFS_CORE_VERIFY_PROOF_COLLECTOR_H_
#define SHUFFLEFS_CORE_VERIFY_PROOF_COLLECTOR_H_

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/ledger/ledger_pass.h"
#include "core/ledger/ledger_reader.h"
#include "core/verify/verify.h"

namespace shufflefs {

// A pass with its counts and pairs. Consumptions without a name are only
// counted.
struct CollectedPass {
  EpochProof proof;
  LedgerPass pass;
  SampleSet consumed;  // empty if they are not kept
};

// Not thread-safe. Memory: PackedPairs for all pairs of the ledger.
class ProofCollector : public LedgerVisitor {
 public:
  // `keeps_consumed`: to keep the consumed samples of each pass.
  explicit ProofCollector(bool keeps_consumed = false)
      : keeps_consumed_(keeps_consumed) {}

  void OnEpoch(const LedgerEpoch& epoch) override;
  void OnConsumed(uint8_t view, uint64_t sample) override;
  void OnShown(uint8_t view, const NameBinding& pair) override;
  void OnBound(uint8_t view, const PackedPairs& pairs) override;
  void OnOpens(uint8_t view, const LedgerOpens& opens) override;
  void OnHold(const LedgerHold& hold) override;
  void OnSwitch(const LedgerSwitch& change) override;

  // The passes in the order in which they began. Empties the collector.
  std::vector<CollectedPass> Take();

 private:
  struct Pass {
    explicit Pass(LedgerPass begun) : pass(std::move(begun)) {}
    LedgerPass pass;
    uint64_t unnamed = 0;  // consumptions without a name
    // Names that were opened again after every sample had been consumed.
    std::vector<uint64_t> again;
    bool superseded = false;
    EpochProof proof;
    SampleSet consumed;  // set at its end, if they are kept
  };

  // The current pass of view number `view`, or null.
  Pass* Running(size_t view);
  void Begin(LedgerPass next);
  void End(size_t view);
  static uint64_t BoundAnew(const Pass& before, const LedgerEpoch& next);

  const bool keeps_consumed_;
  std::vector<Pass> passes_;
  std::array<absl::optional<size_t>, 256> running_;  // by the view's number
  absl::flat_hash_map<std::string, size_t> last_;    // by the view's path
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VERIFY_PROOF_COLLECTOR_H_
