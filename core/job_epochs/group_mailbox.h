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

// A question to a thread that looks for it. Thread-safe.
template <typename T>
class Question {
 public:
  // Blocks until Answer, or until nobody answers for `longest`.
  absl::Status Ask(T what, const std::function<void()>& wake,
                   std::chrono::milliseconds longest) {
    uint64_t before = 0;
    {
      MutexLock lock(mu_);
      asked_ = std::move(what);
      before = answers_;
    }
    wake();
    MutexLock lock(mu_);
    while (answers_ == before) {
      if (!answered_.WaitFor(mu_, longest) && answers_ == before) {
        return absl::UnavailableError("peers: no answer");
      }
    }
    return answer_;
  }
  // What was asked and not taken yet.
  absl::optional<T> Take() {
    MutexLock lock(mu_);
    return std::exchange(asked_, absl::nullopt);
  }
  void Answer(const absl::Status& how) {
    {
      MutexLock lock(mu_);
      ++answers_;
      answer_ = how;
    }
    answered_.SignalAll();
  }

 private:
  Mutex mu_;
  CondVar answered_;
  absl::optional<T> asked_ ABSL_GUARDED_BY(mu_);
  uint64_t answers_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status answer_ ABSL_GUARDED_BY(mu_);  // the last
};

// Thread-safe. Only Signal and Switch block. One call of each at a time.
class GroupMailbox : public EpochGroup {
 public:
  // `wake` tells the thread that something was put in. It must not block.
  explicit GroupMailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Opened(const Open& open) override;
  absl::Status Signal(uint64_t epoch) override;
  absl::Status Switch(const std::string& settings) override;
  std::string Warning() const override;

  // The thread calls the rest.
  void WantOpens(bool wanted);  // if not, they are dropped
  std::vector<EpochOpen> TakeOpens();
  // A wish to end the epoch that was not taken yet.
  absl::optional<uint64_t> TakeWish();
  // Whoever waits in Signal is told.
  void EndWish(const absl::Status& how);
  // The same for Switch.
  absl::optional<std::string> TakeSettings();
  void EndSwitch(const absl::Status& how);
  void SetWarning(const std::string& warning);

 private:
  const std::function<void()> wake_;

  // Self-synchronised.
  Question<uint64_t> wish_;
  Question<std::string> switch_;

  mutable Mutex mu_;
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<EpochOpen> opens_ ABSL_GUARDED_BY(mu_);
  std::string warning_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_GROUP_MAILBOX_H_
