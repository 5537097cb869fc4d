// SPDX-License-Identifier: Apache-2.0
#include "policies/native.h"

#include <string>

#include "policies/auto/suitability.h"
#include "policies/basic_orders.h"

namespace shufflefs {
namespace {

// Always, with the gain to expect of any policy.
absl::optional<Suitability> NativeSuits(const DatasetFacts& facts) {
  Suitability suits{
      .rank = kAlwaysRank, .takes_advice = true, .is_faster = false};
  if (facts.device == DeviceKind::kMemory) {
    suits.why = "no policy is expected to be faster";
  } else if (FitsInMemory(facts)) {
    suits.why = "no gain in speed to expect after the first epoch";
  } else if (facts.device == DeviceKind::kFlash) {
    suits.why = "little gain in speed to expect";
  } else if (facts.device == DeviceKind::kUnknown) {
    suits.why = "no gain can be promised";
  }
  return suits;
}

std::string NativeExpects(const DatasetFacts& facts) {
  if (FitsInMemory(facts))
    return "No gain in speed: the dataset fits in memory.";
  return facts.device == DeviceKind::kUnknown
             ? "No gain can be promised: the device could not be measured."
             : "No gain in speed by default.";
}

}  // namespace

constinit const PolicyEntry kNativeEntry = {
    .name = "native",
    .help = "names, bytes and listing order of the source",
    .make = [](const PolicyOptions&,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<NativePolicy>();
    },
    .advice = {.suits = NativeSuits,
               .expects = NativeExpects,
               .use = "safe for every client",
               .benched = {.any = true}},
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
