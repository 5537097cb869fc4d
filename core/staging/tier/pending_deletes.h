// SPDX-License-Identifier: Apache-2.0
// PendingDeletes lists parts that nobody wants any more and that are still on
// the device. Removing one takes milliseconds. So it is done when the room is
// needed, or when there is nothing else to do. Belongs to one thread.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_PENDING_DELETES_H_
#define SHUFFLEFS_CORE_STAGING_TIER_PENDING_DELETES_H_

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "core/base/status.h"
#include "core/staging/tier/tier_dir.h"

namespace shufflefs {

class PendingDeletes {
 public:
  void Add(uint64_t part, uint64_t bytes) {
    parts_.push_back({part, bytes});
    bytes_ += bytes;
  }
  bool empty() const { return parts_.empty(); }
  uint64_t bytes() const { return bytes_; }
  // Removes the part that has been here longest. If that fails, the part stays.
  // REQUIRES: not empty.
  absl::Status RemoveOne(TierDir& dir) {
    RETURN_IF_ERROR(dir.Remove({parts_.front().id, true}));
    bytes_ -= parts_.front().bytes;
    parts_.pop_front();
    return absl::OkStatus();
  }
  // Forgets all parts because the tier leaves the directory. If it comes back,
  // it finds what is there.
  void Forget() {
    parts_.clear();
    bytes_ = 0;
  }

 private:
  struct Part {
    uint64_t id = 0;
    uint64_t bytes = 0;
  };
  std::deque<Part> parts_;
  uint64_t bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_PENDING_DELETES_H_
