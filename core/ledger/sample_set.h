// SPDX-License-Identifier: Apache-2.0
// SampleSet is a set of samples. Its memory depends on its members, not on
// their range: 16 bytes for up to 64 neighbours, and twice that while it is
// filled. Not thread-safe.
#ifndef SHUFFLEFS_CORE_LEDGER_SAMPLE_SET_H_
#define SHUFFLEFS_CORE_LEDGER_SAMPLE_SET_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/ledger/ledger_format.h"

namespace shufflefs {

class SampleSet {
 public:
  // Returns whether it was no member yet.
  bool Add(uint64_t sample) {
    uint64_t& adding = adding_[sample / 64];
    const uint64_t bit = uint64_t{1} << (sample % 64);
    // It may have been merged already.
    const bool added = (adding & bit) == 0 && !Contains(sample);
    adding |= bit;
    return added;
  }
  // Merges the added samples. Call it before any of the methods below.
  void Settle();

  uint64_t size() const;
  bool Contains(uint64_t sample) const;
  // Sorted by index. Each index occurs once, and no element has empty bits.
  const std::vector<SampleBits>& bits() const { return bits_; }
  // Calls visit(sample) for each member, in rising order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const SampleBits& part : bits_) {
      for (uint64_t rest = part.bits; rest != 0; rest &= rest - 1) {
        visit(part.index * 64 + static_cast<uint64_t>(std::countr_zero(rest)));
      }
    }
  }

 private:
  absl::flat_hash_map<uint64_t, uint64_t> adding_;  // index -> bits
  std::vector<SampleBits> bits_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_SAMPLE_SET_H_
