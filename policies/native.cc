// SPDX-License-Identifier: Apache-2.0
#include "policies/native.h"

#include "policies/basic_orders.h"

namespace shufflefs {

std::unique_ptr<const Order> NativePolicy::MakeOrder(const Stratum& stratum,
                                                     Seed /*seed*/,
                                                     Epoch /*epoch*/) const {
  return std::make_unique<IdentityOrder>(stratum.size);
}

std::unique_ptr<const Order> NativePolicy::MakeListing(const Stratum& stratum,
                                                       Seed /*seed*/,
                                                       Epoch /*epoch*/) const {
  return std::make_unique<IdentityOrder>(stratum.size);
}

}  // namespace shufflefs
