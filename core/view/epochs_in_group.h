// SPDX-License-Identifier: Apache-2.0
// EpochsInGroup is the view's side of an EpochGroup: it says what the view
// shows, and does what the group has decided. Names and samples may come from
// another daemon, so they are checked.
#ifndef SHUFFLEFS_CORE_VIEW_EPOCHS_IN_GROUP_H_
#define SHUFFLEFS_CORE_VIEW_EPOCHS_IN_GROUP_H_

#include <string>
#include <vector>

#include "core/epoch/epoch_group.h"
#include "core/view/epoch_controller.h"
#include "core/view/guarded_controller.h"
#include "core/view/live_epoch.h"

namespace shufflefs {

// Thread-safe, as GroupedView says.
class EpochsInGroup : public GroupedView {
 public:
  struct Parts {
    GuardedController* controller = nullptr;  // these outlive this
    const LiveEpochs* live = nullptr;
    bool sees_opens = true;
  };
  explicit EpochsInGroup(const Parts& parts) : parts_(parts) {}

  bool IsGrouped() const override;
  OpenTracker::Options GroupOptions() const override;
  State GroupState() const override;
  Retained RetainedNow() const override;
  std::vector<Pair> KnownOf(const std::string& member) const override;
  std::vector<Pair> OpenedHere() const override;
  std::vector<Pair> CloseEpoch() override;
  void ReopenEpoch() override;
  void BeginEpoch(const Next& next) override;
  void AdoptEpoch(const State& state, const Retained& retained) override;
  void HoldEpoch(const Next& next) override;
  void ShowWalks() override;

 private:
  using Effects = EpochController::Effects;
  State StateOf(const EpochController& epochs) const;
  static Effects Adopt(const State& state, const Retained& retained,
                       EpochController& epochs);
  static Effects Hold(const Next& next, EpochController& epochs);

  const Parts parts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCHS_IN_GROUP_H_
