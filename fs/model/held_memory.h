// SPDX-License-Identifier: Apache-2.0
// HeldMemory bounds the memory that users take in the daemon by what they keep
// open. With allow_other anybody may open files of the control directory, and
// each has a text of its own.
#ifndef SHUFFLEFS_FS_MODEL_HELD_MEMORY_H_
#define SHUFFLEFS_FS_MODEL_HELD_MEMORY_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Parts may outlive it.
class HeldMemory {
 public:
  struct Limits {
    size_t of_user = size_t{8} << 20;
    size_t of_all = size_t{32} << 20;
  };
  // Root and `owner` take what they want, and do not count.
  HeldMemory(uid_t owner, Limits limits);
  explicit HeldMemory(uid_t owner) : HeldMemory(owner, Limits()) {}

  class Part;  // returned when it is destroyed
  // ENFILE if the user, or all users together, have reached their limit. The
  // last part may go beyond it.
  absl::StatusOr<std::shared_ptr<const Part>> Take(uid_t user, size_t bytes);

 private:
  struct Held;

  const uid_t owner_;
  const Limits limits_;
  const std::shared_ptr<Held> held_;
};

struct HeldMemory::Held {
  Mutex mu;
  size_t of_all ABSL_GUARDED_BY(mu) = 0;
  absl::flat_hash_map<uid_t, size_t> of_users ABSL_GUARDED_BY(mu);
};

class HeldMemory::Part {
 public:
  Part(std::shared_ptr<Held> held, uid_t user, size_t bytes)
      : held_(std::move(held)), user_(user), bytes_(bytes) {}
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  const std::shared_ptr<Held> held_;
  const uid_t user_;
  const size_t bytes_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_HELD_MEMORY_H_
