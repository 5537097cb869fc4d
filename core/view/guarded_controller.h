// SPDX-License-Identifier: Apache-2.0
// GuardedController is the EpochController of a view, with the view's lock.
// Whatever may change the epoch enters here: requests to the view, and the
// group of several nodes.
#ifndef SHUFFLEFS_CORE_VIEW_GUARDED_CONTROLLER_H_
#define SHUFFLEFS_CORE_VIEW_GUARDED_CONTROLLER_H_

#include <atomic>
#include <chrono>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/view/epoch_controller.h"
#include "core/view/kernel_notifier.h"

namespace shufflefs {

// Thread-safe. Calls may block as those of EpochController, and on the kernel.
class GuardedController {
 public:
  using Effects = EpochController::Effects;

  // What `parts` points to outlives this.
  GuardedController(EpochController::Parts parts, EpochJournal journal,
                    SubstitutionGuard guard)
      : notifier_(*parts.notifier),
        controller_(std::move(parts), std::move(journal), std::move(guard)) {}

  // Returns what `ask` says of the controller, under the lock.
  template <typename Ask>
  auto Get(const Ask& ask) const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return ask(controller_);
  }
  // Calls `change` with the controller, under the lock. Then tells the kernel
  // the effects that it returns, without the lock, and returns them.
  template <typename Change>
  Effects Run(const Change& change) ABSL_LOCKS_EXCLUDED(mu_) {
    const Effects effects = RunUntold(change);
    Tell(effects);
    return effects;
  }
  // The same at monotonic time `now`. If opens are reported, and walks must be
  // lookups from now on, counts what was opened before.
  template <typename Change>
  Effects RunAt(std::chrono::milliseconds now, const Change& change)
      ABSL_LOCKS_EXCLUDED(mu_) {
    const Effects effects = Run(change);
    bool doubted = effects.doubted;
    while (doubted && expects_reports_) {
      doubted = Run([now](EpochController& controller) {
                  return controller.NoteWalksShown(now);
                }).doubted;
    }
    return effects;
  }

  // From now on opens come by reports.
  void ExpectReports() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    // A lookup that does not see this yet has bound its name already.
    expects_reports_ = true;
    controller_.ExpectReports();
  }
  bool expects_reports() const { return expects_reports_; }

 private:
  template <typename Change>
  Effects RunUntold(const Change& change) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return change(controller_);
  }
  void Tell(const Effects& effects) ABSL_LOCKS_EXCLUDED(mu_) {
    if (effects.begun != 0) notifier_.Notify(effects.were_fixed, effects.begun);
    if (effects.doubted) notifier_.Doubt();
    if (effects.committed && !effects.doubted) notifier_.Commit();
  }

  KernelNotifier& notifier_;
  std::atomic<bool> expects_reports_{false};

  mutable Mutex mu_;
  EpochController controller_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_GUARDED_CONTROLLER_H_
