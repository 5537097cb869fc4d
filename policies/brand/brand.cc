// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/brand.h"

#include "core/policy/binder.h"
#include "core/policy/permutation_order.h"
#include "policies/brand/group_binder.h"
#include "policies/brand/location_binder.h"

namespace shufflefs {

std::unique_ptr<const Order> BrandPolicy::MakeOrder(const Stratum& stratum,
                                                    Seed seed,
                                                    Epoch epoch) const {
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kOrder));
}

std::unique_ptr<const Order> BrandPolicy::MakeListing(const Stratum& stratum,
                                                      Seed seed,
                                                      Epoch epoch) const {
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kListing));
}

std::unique_ptr<Binder> BrandPolicy::MakeBinder(
    const BinderInput& input) const {
  if (options_.brand_binding == PolicyOptions::Binding::kLocation) {
    return std::make_unique<LocationBinder>(input);
  }
  return std::make_unique<GroupBinder>(input);
}

}  // namespace shufflefs
