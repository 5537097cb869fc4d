// SPDX-License-Identifier: Apache-2.0
// native: the source as it is.
//
// Guarantees: every name shows its own sample, and directories list in the
//   source's order, in every epoch. The filesystem shuffles nothing.
// Read pattern: the client's own. Memory and cost: none.
//
// Use it for validation splits, for a client whose own shuffle must stay
// unchanged, and as the baseline for every other policy.
#ifndef SHUFFLEFS_POLICIES_NATIVE_H_
#define SHUFFLEFS_POLICIES_NATIVE_H_

#include <memory>

#include "core/policy/policy_entry.h"

namespace shufflefs {

extern const PolicyEntry kNativeEntry;

class NativePolicy : public Policy {
 public:
  absl::string_view name() const override { return "native"; }
  Consumption consumption() const override { return Consumption::kSource; }
  std::unique_ptr<const Order> MakeOrder(const Stratum& stratum, Seed seed,
                                         Epoch epoch) const override;
  std::unique_ptr<const Order> MakeListing(const Stratum& stratum, Seed seed,
                                           Epoch epoch) const override;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_NATIVE_H_
