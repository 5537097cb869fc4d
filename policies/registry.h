// SPDX-License-Identifier: Apache-2.0
// The list of policies. Add new policies only here. Constant; any thread may
// call.
#ifndef SHUFFLEFS_POLICIES_REGISTRY_H_
#define SHUFFLEFS_POLICIES_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/engine/policy_set.h"

namespace shufflefs {

// The policies of this directory, in the order of help texts.
PolicyTable OwnPolicies();

// The policies of this program: OwnPolicies(), unless it links another
// definition (registered.cc) with more of them.
PolicyTable Policies();

// As in core/policy/policy_entry.h, for Policies(). `auto` is no policy:
// resolve it with ChooseAuto (policies/auto/auto_choice.h) first.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    absl::string_view name, const PolicyOptions& options);

// Includes ChooseAuto, for an engine.
PolicySet AllPolicies();

[[nodiscard]] absl::Status CheckPolicyOptions(const PolicyOptions& options);
std::vector<absl::string_view> PolicyNames();
// Those that use what the job reports: "met". "" if there is none.
std::string FeedbackPolicies();
// Empty if there is no such policy.
absl::string_view PolicyHelp(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_REGISTRY_H_
