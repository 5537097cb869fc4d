// SPDX-License-Identifier: Apache-2.0
// When a view stops substituting: a split that the client makes, or a job of
// several nodes under a policy that binds by the memory of one.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/view/view.h"

namespace shufflefs {
namespace {

// More bound names than these are not carried into a binding in mid-epoch.
constexpr size_t kMostCarried = 8192;

std::string SeveralNodesWarning(absl::string_view policy,
                                absl::string_view shown_by) {
  return absl::StrCat(
      "the job spans several nodes (", shown_by, "), and policy = ", policy,
      " binds names by what is in the memory of one: names keep their own "
      "samples; set policy = lirs, which binds alike on every node, or nodes = "
      "1/1 if all of this directory is read on this node");
}

}  // namespace

void View::Suspend(Suspicion suspicion) {
  if (!suspended_.empty()) return;
  suspended_ =
      absl::StrCat("client-side split suspected: ", SuspicionText(suspicion),
                   "; names keep their own samples from the next "
                   "boundary on");
  Log(LogLevel::kWarning, absl::StrCat(name_, ": ", suspended_));
}

bool View::NodesUnclear() const {
  return !several_nodes_.empty() && setup_->binds_on_demand() &&
         !setup_->config.nodes;
}

bool View::LearnNodes(uint32_t reader, std::chrono::milliseconds now) {
  if (nodes_ == nullptr || reader == 0 || !several_nodes_.empty() ||
      !setup_->binds_on_demand() || setup_->config.nodes) {
    return false;
  }
  const std::string shown_by = nodes_->Of(reader, now);
  if (shown_by.empty()) return false;
  several_nodes_ = SeveralNodesWarning(setup_->policy->name(), shown_by);
  Log(LogLevel::kWarning, absl::StrCat(name_, ": ", several_nodes_));
  return StopBinding();
}

bool View::StopBinding() {
  const std::shared_ptr<BoundNames> bound_names = binding_->bound_names();
  if (bound_names == nullptr) return false;
  CloseLookups();
  std::vector<CarriedPair> bound;
  const uint64_t names = setup_->dataset->grouping().sample_count();
  for (uint64_t name = 0; name < names; ++name) {
    const absl::optional<SampleId> sample = bound_names->Bound(SampleId(name));
    if (!sample) continue;
    if (bound.size() == kMostCarried) {
      published_.Get()->lookups->Reopen();
      return false;
    }
    bound.push_back(CarriedPair{name, sample->value()});
  }
  absl::StatusOr<CarriedNames> carried =
      CarriedNames::Make(CarriedNames::FirstOfEach(std::move(bound)));
  if (!carried.ok()) {  // cannot be: each name was asked once
    published_.Get()->lookups->Reopen();
    return false;
  }
  Bind(binding_->epoch(), *std::move(carried), /*identity=*/true, {});
  ++begun_;
  watch_->ForgetLookups();
  // The epoch goes on: what was consumed of it stays consumed.
  NoteBegun(nullptr);
  Publish();
  return true;
}

}  // namespace shufflefs
