// SPDX-License-Identifier: Apache-2.0
// The policies that there are. The one place that a new policy is entered.
// Constant; any thread may call.
#ifndef SHUFFLEFS_POLICIES_REGISTRY_H_
#define SHUFFLEFS_POLICIES_REGISTRY_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/engine/policy_set.h"

namespace shufflefs {

// Those of this directory, in the order in which help texts list them.
PolicyTable OwnPolicies();

// Those of this program: OwnPolicies(), unless it links another definition
// (registered.cc), with more of them.
PolicyTable Policies();

// As core/policy/policy_entry.h, of Policies(). `auto` is no policy: resolve
// it with ChooseAuto (policies/auto/auto_choice.h) first.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    absl::string_view name, const PolicyOptions& options);

// With ChooseAuto, for an engine.
PolicySet AllPolicies();

[[nodiscard]] absl::Status CheckPolicyOptions(const PolicyOptions& options);
std::vector<absl::string_view> PolicyNames();
// Empty if there is no such policy.
absl::string_view PolicyHelp(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_REGISTRY_H_
