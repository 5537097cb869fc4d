// SPDX-License-Identifier: Apache-2.0
// Requests that come before they can be answered rightly, and wait for that
// without a thread.
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

  // Keeps `request`, and calls it once when the gate is opened or ends; at once
  // where it has ended. False, and it is not called, where the gate is open.
  bool Keep(Request request);
  // From now on nothing is kept. May be called more than once, also after End.
  void Open() { Change(State::kOpen, Outcome::kReady); }
  // Nobody will open it.
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
