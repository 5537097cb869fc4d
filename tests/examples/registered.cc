// SPDX-License-Identifier: Apache-2.0
// In place of policies/registered.cc: the program has one policy more.
#include <vector>

#include "policies/registry.h"
#include "tests/examples/reverse_policy.h"

namespace shufflefs {

PolicyTable Policies() {
  static const auto* const policies = [] {
    auto* const all = new std::vector<const PolicyEntry*>(OwnPolicies().begin(),
                                                          OwnPolicies().end());
    all->push_back(&kReverseEntry);
    return all;
  }();
  return *policies;
}

}  // namespace shufflefs
