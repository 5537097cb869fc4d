// SPDX-License-Identifier: Apache-2.0
// The order of policies that mix all samples with all others. O(1) in memory
// and time. Immutable; any thread may call.
#ifndef SHUFFLEFS_CORE_POLICY_PERMUTATION_ORDER_H_
#define SHUFFLEFS_CORE_POLICY_PERMUTATION_ORDER_H_

#include <cstdint>

#include "core/policy/policy.h"
#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {

// A full random shuffle.
class PermutationOrder : public Order {
 public:
  PermutationOrder(uint64_t size, RandomKey key) : permutation_(size, key) {}
  uint64_t size() const override { return permutation_.size(); }
  uint64_t SampleAt(uint64_t position) const override {
    return permutation_.Apply(position);
  }
  uint64_t PositionOf(uint64_t sample) const override {
    return permutation_.Inverse(sample);
  }

 private:
  const Permutation permutation_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_PERMUTATION_ORDER_H_
