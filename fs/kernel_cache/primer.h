// SPDX-License-Identifier: Apache-2.0
// After an epoch switch the kernel looks every name up anew, a request each.
// So the daemon lists the directories that are in use itself, with attributes,
// and the kernel takes hundreds of names up by one request: about 3 us a name,
// on a thread beside the reader, where a lookup costs the reader 20 or more.
#ifndef SHUFFLEFS_FS_KERNEL_CACHE_PRIMER_H_
#define SHUFFLEFS_FS_KERNEL_CACHE_PRIMER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/engine/served_dataset.h"
#include "fs/kernel_cache/mount_lister.h"

namespace shufflefs {

// Thread-safe.
class Primer {
 public:
  // Names beyond this are left to be looked up: an inode each takes about
  // 1 KiB of the kernel's memory.
  static constexpr uint64_t kLimit = 100000;

  // Once, before the others; `served` outlives the primer. A primer that was
  // not begun does nothing.
  void Begin(const ServedDataset& served);

  // A name that may rebind was looked up in `dir`, so it is in use.
  void NoteLookup(DirId dir) {
    if (dir.value() < in_use_.size() &&
        !in_use_[dir.value()].load(std::memory_order_relaxed)) {
      AddDirectory(dir);
    }
  }

  // Tells the kernel, by `tell`, to forget all bindings. No name is being
  // taken up meanwhile, and a priming that is under way stops: what it lists
  // is of the epoch before.
  void Switch(const std::function<void()>& tell);

  // Takes the names in use up, by `lister`. Blocks; another thread must serve
  // the mount meanwhile. Returns how many they were.
  uint64_t Prime(MountLister& lister, const std::string& mountpoint);
  // Whether the thread `pid` (as FUSE gives it) lists for Prime: what it lists
  // is to be bound.
  bool IsPriming(int32_t pid) const {
    return pid == thread_.load(std::memory_order_acquire);
  }

 private:
  void AddDirectory(DirId dir);
  uint64_t PrimeOne(MountLister& lister, const std::string& path,
                    uint64_t generation);

  // Set by Begin.
  const ServedDataset* served_ = nullptr;
  std::vector<std::atomic<bool>> in_use_;  // by DirId

  // Self-synchronised.
  std::atomic<int32_t> thread_{0};

  Mutex mu_;
  std::vector<DirId> directories_ ABSL_GUARDED_BY(mu_);
  uint64_t names_ ABSL_GUARDED_BY(mu_) = 0;  // in directories_

  // Held while the kernel takes a batch up. Taken alone.
  Mutex batch_mu_;
  uint64_t generation_ ABSL_GUARDED_BY(batch_mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_KERNEL_CACHE_PRIMER_H_
