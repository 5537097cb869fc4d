// SPDX-License-Identifier: Apache-2.0
// The policies by name. The one place that a new policy is entered.
// Stateless; any thread may call.
#ifndef SHUFFLEFS_POLICIES_REGISTRY_H_
#define SHUFFLEFS_POLICIES_REGISTRY_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/engine/policy_set.h"
#include "core/policy/policy.h"

namespace shufflefs {

// Matches PolicyFactory. `auto` is no policy: resolve it with ChooseAuto
// (policies/auto/auto_choice.h) first. Errors: InvalidArgument that lists the
// names, or that CheckPolicyOptions gives.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    absl::string_view name, const PolicyOptions& options);

// MakePolicy and ChooseAuto, for an engine.
PolicySet AllPolicies();

// All options are held against their ranges, also those of other policies, so
// that a later switch by name cannot fail on them. InvalidArgument names the
// key, the value and the range.
[[nodiscard]] absl::Status CheckPolicyOptions(const PolicyOptions& options);

// In the order in which help texts list them, without `auto`.
std::vector<absl::string_view> PolicyNames();

// One line, no full stop; empty if there is no such policy.
absl::string_view PolicyHelp(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_REGISTRY_H_
