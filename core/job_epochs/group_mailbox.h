// SPDX-License-Identifier: Apache-2.0
// GroupMailbox is the EpochGroup of one view. It hands what happens in the view
// to the thread of JobEpochs.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_GROUP_MAILBOX_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_GROUP_MAILBOX_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/epoch/epoch_group.h"
#include "core/peers/epoch_message.h"

namespace shufflefs {

// Thread-safe. Only Signal blocks.
class GroupMailbox : public EpochGroup {
 public:
  // `wake` tells the thread that something was put in. It must not block.
  explicit GroupMailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Opened(const Open& open) override;
  absl::Status Signal(uint64_t epoch) override;
  std::string Warning() const override;

  // The thread calls the rest.
  void WantOpens(bool wanted);  // if not, they are dropped
  std::vector<EpochOpen> TakeOpens();
  // A wish to end the epoch that was not taken yet.
  absl::optional<uint64_t> TakeWish();
  // Whoever waits in Signal is told.
  void EndWish(const absl::Status& how);
  void SetWarning(const std::string& warning);

 private:
  const std::function<void()> wake_;

  mutable Mutex mu_;
  CondVar ended_;
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<EpochOpen> opens_ ABSL_GUARDED_BY(mu_);
  absl::optional<uint64_t> wish_ ABSL_GUARDED_BY(mu_);
  uint64_t wishes_ ABSL_GUARDED_BY(mu_) = 0;  // that ended
  absl::Status how_ ABSL_GUARDED_BY(mu_);     // the last one ended
  std::string warning_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_GROUP_MAILBOX_H_
