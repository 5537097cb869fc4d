// SPDX-License-Identifier: Apache-2.0
#include "fs/model/held_memory.h"

#include <cerrno>

#include "core/base/status.h"

namespace shufflefs {

HeldMemory::HeldMemory(uid_t owner, Limits limits)
    : owner_(owner), limits_(limits), held_(std::make_shared<Held>()) {}

absl::StatusOr<std::shared_ptr<const HeldMemory::Part>> HeldMemory::Take(
    uid_t user, size_t bytes) {
  if (user == 0 || user == owner_) bytes = 0;
  if (bytes > 0) {
    MutexLock lock(held_->mu);
    size_t& of_user = held_->of_users[user];
    if (of_user >= limits_.of_user || held_->of_all >= limits_.of_all) {
      if (of_user == 0) held_->of_users.erase(user);
      return ErrnoStatus(ENFILE, "too much of the control directory is open");
    }
    of_user += bytes;
    held_->of_all += bytes;
  }
  return std::make_shared<const Part>(held_, user, bytes);
}

HeldMemory::Part::~Part() {
  if (bytes_ == 0) return;
  MutexLock lock(held_->mu);
  held_->of_all -= bytes_;
  const auto found = held_->of_users.find(user_);
  found->second -= bytes_;
  if (found->second == 0) held_->of_users.erase(found);
}

}  // namespace shufflefs
