// SPDX-License-Identifier: Apache-2.0
// What `status` says of a view's epoch.
#include <utility>

#include "absl/algorithm/container.h"
#include "core/view/view.h"

namespace shufflefs {

ViewEpochStatus View::EpochStatus() const {
  MutexLock lock(mu_);
  ViewEpochStatus status;
  status.epoch = epoch_;
  status.state = is_held_ ? "held" : "running";
  if (waiting_ || pending_ != nullptr) status.state = "waiting";
  status.verdict = verdict_;
  status.held = held_;
  status.hold_reason = hold_reason_;
  status.carried = binding_->carried().size();
  status.samples = setup_->dataset->grouping().sample_count();
  if (watch_ != nullptr) {
    status.consumed = watch_->consumed();
    status.rereads = watch_->rereads();
  }
  status.suspended = !suspended_.empty() || NodesUnclear();
  status.shows_own =
      status.suspended && binding_->identity() &&
      absl::c_all_of(binding_->carried().pairs(), [](const CarriedPair& pair) {
        return pair.name == pair.sample;
      });
  if (!suspended_.empty()) status.warnings.push_back(suspended_);
  if (NodesUnclear()) status.warnings.push_back(several_nodes_);
  if (!sees_opens_ && (setup_->rebinds() || records_ != nullptr) &&
      setup_->config.epoch_advance == Advance::kAuto) {
    status.warnings.push_back(
        "this mount does not see opens, so the epoch advances by the control "
        "file only; mount with -o open=seen for epoch.advance = auto");
  }
  return status;
}

}  // namespace shufflefs
