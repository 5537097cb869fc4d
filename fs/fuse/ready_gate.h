// SPDX-License-Identifier: Apache-2.0
// ReadyGate keeps requests that come before they can be answered correctly.
// They wait without a thread.
#ifndef SHUFFLEFS_FS_FUSE_READY_GATE_H_
#define SHUFFLEFS_FS_FUSE_READY_GATE_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Requests are called with no lock held.
class ReadyGate {
 public:
  enum class Outcome { kReady, kEnded };
  using Request = std::function<void(Outcome)>;

  // Keeps `request`, and calls it once when the gate opens or ends; at once if
  // it has ended. If the gate is open, returns false and does not call it.
  bool Keep(Request request);
  // From now on no request is kept. May be called more than once, also after
  // End.
  void Open() { Change(State::kOpen, Outcome::kReady); }
  // The gate will never open.
  void End() { Change(State::kEnded, Outcome::kEnded); }

 private:
  enum class State { kShut, kOpen, kEnded };
  void Change(State to, Outcome outcome) ABSL_LOCKS_EXCLUDED(mu_);

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kShut;
  std::vector<Request> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_READY_GATE_H_
