// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy.h"

#include "core/policy/binder.h"
#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

// A full random shuffle. O(1) in memory and time.
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

}  // namespace

std::unique_ptr<const Order> Policy::MakeOrder(const Stratum& stratum,
                                               Seed seed, Epoch epoch) const {
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kOrder));
}

std::unique_ptr<const Order> Policy::MakeListing(const Stratum& stratum,
                                                 Seed seed, Epoch epoch) const {
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kListing));
}

std::unique_ptr<Binder> Policy::MakeBinder(const BinderInput&) const {
  return nullptr;
}

RecordRepeats Policy::record_repeats(Epoch epoch) const {
  return stages() ? staging()->record_repeats(epoch) : RecordRepeats();
}

}  // namespace shufflefs
