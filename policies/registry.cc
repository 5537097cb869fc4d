// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.h"

#include "absl/strings/str_cat.h"
#include "policies/auto/auto_choice.h"
#include "policies/brand/brand.h"
#include "policies/clairvoyant.h"
#include "policies/lirs.h"
#include "policies/met/met.h"
#include "policies/native.h"
#include "policies/reimu.h"
#include "policies/static_policy.h"
#include "policies/window.h"

namespace shufflefs {
namespace {

constexpr const PolicyEntry* kOwnPolicies[] = {
    &kNativeEntry, &kLirsEntry,        &kBrandEntry,  &kMetEntry,
    &kReimuEntry,  &kClairvoyantEntry, &kWindowEntry, &kStaticEntry,
};

}  // namespace

PolicyTable OwnPolicies() { return kOwnPolicies; }

absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    absl::string_view name, const PolicyOptions& options) {
  return MakePolicy(Policies(), name, options);
}

absl::Status CheckPolicyOptions(const PolicyOptions& options) {
  return CheckPolicyOptions(Policies(), options);
}

PolicySet AllPolicies() { return {Policies(), ChooseAuto}; }

std::vector<absl::string_view> PolicyNames() {
  std::vector<absl::string_view> names;
  for (const PolicyEntry* entry : Policies()) names.push_back(entry->name);
  return names;
}

std::string FeedbackPolicies() {
  std::string names;
  for (const PolicyEntry* entry : Policies()) {
    if (!entry->takes_feedback) continue;
    absl::StrAppend(&names, names.empty() ? "" : " or ", entry->name);
  }
  return names;
}

absl::string_view PolicyHelp(absl::string_view name) {
  const PolicyEntry* const entry = FindPolicy(Policies(), name);
  return entry != nullptr ? entry->help : "";
}

}  // namespace shufflefs
