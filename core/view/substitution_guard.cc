// SPDX-License-Identifier: Apache-2.0
#include "core/view/substitution_guard.h"

#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace shufflefs {
namespace {

std::string SeveralNodesWarning(const Policy& policy,
                                absl::string_view shown_by) {
  const absl::string_view instead = policy.instead_on_nodes();
  return absl::StrCat(
      "the job spans several nodes (", shown_by,
      "), and policy = ", policy.name(),
      " binds names by what is in one node's memory, so names keep their own "
      "samples; set ",
      instead.empty() ? "" : "policy = ", instead,
      instead.empty() ? "" : ", which binds alike on every node, or ",
      "nodes = 1/1 if all of this directory is read on this node");
}

}  // namespace

void SubstitutionGuard::Suspect(Suspicion suspicion) {
  if (suspicion == Suspicion::kNone || !suspected_.empty()) return;
  suspected_ =
      absl::StrCat("client-side split suspected: ", SuspicionText(suspicion),
                   "; names keep their own samples from the next "
                   "boundary on");
  Log(LogLevel::kWarning, absl::StrCat(view_, ": ", suspected_));
}

void SubstitutionGuard::GoOn(const LedgerEpoch& then, const ViewSetup& setup) {
  // Whoever sets a length says that a share is intended.
  if (then.suspected && setup.config.epoch_length == 0) {
    Suspect(Suspicion::kEarlier);
  }
}

bool SubstitutionGuard::NodesUnclear(const ViewSetup& setup) const {
  return !several_nodes_.empty() && setup.binds_on_demand() &&
         !setup.config.nodes && setup.shared == nullptr;
}

bool SubstitutionGuard::LearnNodes(const ViewSetup& setup, uint32_t reader,
                                   std::chrono::milliseconds now) {
  if (nodes_ == nullptr || reader == 0 || !several_nodes_.empty() ||
      !setup.binds_on_demand() || setup.config.nodes) {
    return false;
  }
  const std::string shown_by = nodes_->Of(reader, now);
  if (shown_by.empty()) return false;
  several_nodes_ = SeveralNodesWarning(*setup.policy, shown_by);
  Log(LogLevel::kWarning, absl::StrCat(view_, ": ", several_nodes_));
  return true;
}

std::vector<std::string> SubstitutionGuard::Warnings(
    const ViewSetup& setup) const {
  std::vector<std::string> warnings;
  if (!suspected_.empty()) warnings.push_back(suspected_);
  if (NodesUnclear(setup)) warnings.push_back(several_nodes_);
  return warnings;
}

}  // namespace shufflefs
