// SPDX-License-Identifier: Apache-2.0
// LastAnswer is a question to the source that must be answered even if the
// source hangs. In that case the last answer counts.
#ifndef SHUFFLEFS_FS_MODEL_LAST_ANSWER_H_
#define SHUFFLEFS_FS_MODEL_LAST_ANSWER_H_

#include <chrono>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"

namespace shufflefs {

// Thread-safe.
template <typename T>
class LastAnswer {
 public:
  using Ask = std::function<absl::StatusOr<T>()>;
  static constexpr std::chrono::milliseconds kPatience{500};

  // Asks once, for as long as it takes. Any thread may call `ask`.
  explicit LastAnswer(Ask ask) : ask_(std::move(ask)), last_(ask_()) {}

  // Asks on `worker`, which ends before this object. Returns the new answer or,
  // if kPatience has passed since the question began, the last one.
  absl::StatusOr<T> Get(Worker& worker) ABSL_LOCKS_EXCLUDED(mu_) {
    if (Begin()) {
      worker.Post([this](const absl::Status& turn) { AskNow(turn); },
                  /*urgent=*/true);
    }
    MutexLock lock(mu_);
    while (asking_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until_ - Clock::now());
      if (left.count() <= 0) break;
      answered_.WaitFor(mu_, left);
    }
    return last_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Returns whether no question is running yet, and starts one.
  bool Begin() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    if (asking_) return false;
    until_ = Clock::now() + kPatience;
    asking_ = true;
    return true;
  }
  void AskNow(const absl::Status& turn) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::optional<absl::StatusOr<T>> now;
    if (turn.ok()) now = ask_();
    MutexLock lock(mu_);
    if (now) last_ = *std::move(now);
    asking_ = false;
    answered_.SignalAll();
  }

  const Ask ask_;  // constant after construction

  Mutex mu_;
  CondVar answered_;
  bool asking_ ABSL_GUARDED_BY(mu_) = false;
  Clock::time_point until_ ABSL_GUARDED_BY(mu_);
  absl::StatusOr<T> last_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_LAST_ANSWER_H_
