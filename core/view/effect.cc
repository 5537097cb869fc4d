// SPDX-License-Identifier: Apache-2.0
#include "core/view/effect.h"

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

// Returns whether the policy is one that shows, orders or holds samples in its
// own way, as `native` is not.
bool WantsFiles(const Policy& policy) {
  return policy.consumption() != Consumption::kSource;
}

}  // namespace

bool ProgramOrders(const ViewSetup& setup) {
  return setup.config.layout == Layout::kTree && !setup.rebinds() &&
         setup.records.pool == nullptr;
}

std::string EffectWarning(const ViewSetup& setup) {
  const Policy& policy = *setup.policy;
  // With substitute = never the user knows it.
  const bool expects = setup.config.policy == policy.name() &&
                       setup.config.substitute != Substitute::kNever;
  if (!expects || !ProgramOrders(setup)) return "";
  const std::string start = absl::StrCat("policy = ", policy.name());
  if (WantsFiles(policy)) {
    return absl::StrCat(
        start, " does not shuffle: names keep their samples (",
        setup.dataset->substitute_reason(),
        "). Only the order of listings changes. Use layout=ranked, or "
        "substitute=directory if each directory is a class; `shufflectl check` "
        "names a policy that suits");
  }
  if (policy.shuffles_records()) {
    return absl::StrCat(
        start,
        " changes nothing: it shuffles records, and no file here is a "
        "container. Name the format in record.as, or use the policy that "
        "`shufflectl check` names");
  }
  return "";
}

}  // namespace shufflefs
