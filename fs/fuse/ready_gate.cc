// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/ready_gate.h"

namespace shufflefs {

bool ReadyGate::Keep(Request request) {
  {
    MutexLock lock(mu_);
    if (state_ == State::kOpen) return false;
    if (state_ == State::kShut) {
      kept_.push_back(std::move(request));
      return true;
    }
  }
  request(Outcome::kEnded);
  return true;
}

void ReadyGate::Change(State to, Outcome outcome) {
  std::vector<Request> kept;
  {
    MutexLock lock(mu_);
    if (state_ == State::kShut) state_ = to;
    kept.swap(kept_);
  }
  for (const Request& request : kept) request(outcome);
}

}  // namespace shufflefs
