// SPDX-License-Identifier: Apache-2.0
#include "policies/met.h"

#include "policies/basic_orders.h"
#include "policies/met_binder.h"

namespace shufflefs {

std::unique_ptr<const Order> MetPolicy::MakeOrder(const Stratum& stratum,
                                                  Seed seed,
                                                  Epoch epoch) const {
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kOrder));
}

std::unique_ptr<const Order> MetPolicy::MakeListing(const Stratum& stratum,
                                                    Seed seed,
                                                    Epoch epoch) const {
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kListing));
}

std::unique_ptr<Binder> MetPolicy::MakeBinder(const BinderInput& input) const {
  return std::make_unique<MetBinder>(options_, input);
}

}  // namespace shufflefs
