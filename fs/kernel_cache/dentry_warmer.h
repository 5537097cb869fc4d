// SPDX-License-Identifier: Apache-2.0
// After an epoch switch the kernel looks every name up again, with one request
// per name. DentryWarmer avoids this: the daemon itself lists the directories
// in use, with attributes, and the kernel caches hundreds of names per request.
// This takes about 3 us per name on another thread, while a lookup costs the
// reader 20 us or more.
#ifndef SHUFFLEFS_FS_KERNEL_CACHE_DENTRY_WARMER_H_
#define SHUFFLEFS_FS_KERNEL_CACHE_DENTRY_WARMER_H_

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
class DentryWarmer {
 public:
  // Further names are left to be looked up: each inode takes about 1 KiB of the
  // kernel's memory.
  static constexpr uint64_t kLimit = 100000;

  // Call it once, before the other methods. `served` outlives the warmer. A
  // warmer that was not begun does nothing.
  void Begin(const ServedDataset& served);

  // A name that may rebind was looked up in `dir`, so `dir` is in use.
  void NoteLookup(DirId dir) {
    if (dir.value() < in_use_.size() &&
        !in_use_[dir.value()].load(std::memory_order_relaxed)) {
      AddDirectory(dir);
    }
  }

  // Tells the kernel, by `tell`, to forget all bindings. Meanwhile no name is
  // listed, and a running priming stops, because it lists the previous epoch.
  void Switch(const std::function<void()>& tell);

  // Lists the names in use, by `lister`. Blocks. Another thread must serve the
  // mount meanwhile. Returns their number.
  uint64_t Prime(MountLister& lister, const std::string& mountpoint);
  // Returns whether the thread `pid` (from FUSE; 0: hidden) lists for Prime:
  // its listing binds the names.
  bool IsPriming(int32_t pid) const {
    return pid != 0 && pid == thread_.load(std::memory_order_acquire);
  }

 private:
  void AddDirectory(DirId dir);
  // Adds to `names`. Returns false if the listing was given up.
  bool PrimeOne(MountLister& lister, const std::string& path,
                uint64_t generation, uint64_t& names);
  void TellAgain(MountLister& lister, uint64_t generation);

  // Set by Begin.
  const ServedDataset* served_ = nullptr;
  std::vector<std::atomic<bool>> in_use_;  // by DirId

  // Self-synchronised.
  std::atomic<int32_t> thread_{0};

  Mutex mu_;
  std::vector<DirId> directories_ ABSL_GUARDED_BY(mu_);
  uint64_t names_ ABSL_GUARDED_BY(mu_) = 0;  // in directories_

  // Held while the kernel takes in a batch, or until that is given up. No other
  // lock is taken with it.
  Mutex batch_mu_;
  uint64_t generation_ ABSL_GUARDED_BY(batch_mu_) = 0;
  std::function<void()> tell_ ABSL_GUARDED_BY(batch_mu_);  // of the last Switch
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_KERNEL_CACHE_DENTRY_WARMER_H_
