// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy_entry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {

const PolicyEntry* FindPolicy(PolicyTable policies, absl::string_view name) {
  for (const PolicyEntry* entry : policies) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

std::string NamesOf(PolicyTable policies, absl::string_view last_separator) {
  std::string names;
  for (size_t i = 0; i < policies.size(); ++i) {
    const bool last = i + 1 == policies.size();
    absl::StrAppend(&names, i == 0 ? "" : (last ? last_separator : ", "),
                    policies[i]->name);
  }
  return names;
}

absl::Status CheckPolicyOptions(PolicyTable policies,
                                const PolicyOptions& options) {
  for (const PolicyEntry* entry : policies) {
    for (const PolicyOption& option : entry->keys) {
      RETURN_IF_ERROR(options.Check(option));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const Policy>> MakePolicy(
    PolicyTable policies, absl::string_view name, const PolicyOptions& options,
    const StagedView* view) {
  RETURN_IF_ERROR(CheckPolicyOptions(policies, options));
  const PolicyEntry* const entry = FindPolicy(policies, name);
  if (entry != nullptr) return entry->make(options, view);
  return absl::InvalidArgumentError(absl::StrCat("policy: there is no \"", name,
                                                 "\"; the policies are ",
                                                 NamesOf(policies, ", ")));
}

std::vector<PlacedText> BindingTexts(PolicyTable policies,
                                     const PolicyOptions& options) {
  std::vector<PlacedText> texts;
  for (const PolicyEntry* entry : policies) {
    for (const PolicyOption& option : entry->keys) {
      if (!option.binds) continue;
      std::string text = options.HashText(option);
      if (option.place != PolicyOption::kByName) {
        texts.emplace_back(option.place, std::move(text));
      } else if (text != PolicyOptions().HashText(option)) {
        texts.emplace_back(option.place, absl::StrCat(option.key, "=", text));
      }
    }
  }
  return texts;
}

bool SameKeys(const PolicyEntry& policy, const PolicyOptions& a,
              const PolicyOptions& b) {
  return std::all_of(policy.keys.begin(), policy.keys.end(),
                     [&](const PolicyOption& option) {
                       return a.HashText(option) == b.HashText(option);
                     });
}

}  // namespace shufflefs
