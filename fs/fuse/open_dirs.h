// SPDX-License-Identifier: Apache-2.0
// OpenDirs holds the directories that the kernel has open, by their handles.
// The kernel closes some only after it has unmounted, and sends no request for
// these. They are freed with this object.
#ifndef SHUFFLEFS_FS_FUSE_OPEN_DIRS_H_
#define SHUFFLEFS_FS_FUSE_OPEN_DIRS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"

namespace shufflefs {

class DirStream;

// AheadMemory bounds what all open directories keep for their next requests. A
// reader chooses the size of a piece, up to 1 MiB, and how many are open.
// Thread-safe.
class AheadMemory {
 public:
  static constexpr size_t kMost = size_t{32} << 20;

  // Returns whether there are so many bytes left. If so, takes them.
  bool Take(size_t bytes) {
    if (taken_.fetch_add(bytes) + bytes <= kMost) return true;
    taken_ -= bytes;
    return false;
  }
  void Give(size_t bytes) { taken_ -= bytes; }

 private:
  std::atomic<size_t> taken_{0};
};

// Thread-safe.
class OpenDirs {
 public:
  // For the directories that are added. They may outlive this object.
  const std::shared_ptr<AheadMemory>& ahead() const { return ahead_; }
  // Returns a new handle.
  uint64_t Add(std::shared_ptr<DirStream> dir) {
    MutexLock lock(mu_);
    open_[++last_] = std::move(dir);
    return last_;
  }
  // Shared with a reply that is still making the next piece after the kernel
  // got its answer and closed the directory. REQUIRES: it was added, and not
  // removed.
  std::shared_ptr<DirStream> Find(uint64_t handle) const {
    MutexLock lock(mu_);
    return open_.at(handle);
  }
  void Remove(uint64_t handle) {
    std::shared_ptr<DirStream> removed;  // destroyed without the lock
    MutexLock lock(mu_);
    const auto found = open_.find(handle);
    if (found == open_.end()) return;
    removed = std::move(found->second);
    open_.erase(found);
  }

 private:
  const std::shared_ptr<AheadMemory> ahead_ = std::make_shared<AheadMemory>();
  mutable Mutex mu_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<DirStream>> open_
      ABSL_GUARDED_BY(mu_);
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_OPEN_DIRS_H_
