// SPDX-License-Identifier: Apache-2.0
// A set of samples that takes memory by its members, not by their range: 16
// bytes for up to 64 neighbours. Not thread-safe.
#ifndef SHUFFLEFS_CORE_SAMPLE_SET_H_
#define SHUFFLEFS_CORE_SAMPLE_SET_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "core/ledger_format.h"

namespace shufflefs {

class SampleSet {
 public:
  void Add(uint64_t sample);
  // Sorts what was added; call before any of the methods below.
  void Settle();

  uint64_t size() const;
  bool Contains(uint64_t sample) const;
  // Sorted by index, each index once, no bits empty.
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
  std::vector<SampleBits> bits_;
  uint64_t settled_ = 0;  // parts at the front that are sorted
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLE_SET_H_
