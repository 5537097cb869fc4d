// SPDX-License-Identifier: Apache-2.0
#include "policies/native.h"

#include "policies/auto/suitability.h"
#include "policies/basic_orders.h"

namespace shufflefs {

constinit const PolicyEntry kNativeEntry = {
    .name = "native",
    .help = "names, bytes and listing order of the source",
    .make = [](const PolicyOptions&,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<NativePolicy>();
    },
    .suits = SuitsAlways,
    .use = "safe for every client",
};

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
