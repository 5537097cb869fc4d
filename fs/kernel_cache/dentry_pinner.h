// SPDX-License-Identifier: Apache-2.0
// DentryPinner keeps the kernel's cached pages over an epoch switch. The kernel
// drops an inode and its pages with its last dentry, and a switch removes the
// dentry of every rebound name. So each file that was read gets a second
// dentry, in a hidden directory that the daemon lists once and nobody looks up
// again. These dentries are unused, so memory pressure can still reclaim them.
// If such a file is read from the source again, it is pinned again.
#ifndef SHUFFLEFS_FS_KERNEL_CACHE_DENTRY_PINNER_H_
#define SHUFFLEFS_FS_KERNEL_CACHE_DENTRY_PINNER_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "fs/kernel_cache/mount_lister.h"
#include "fs/model/dir_handle.h"
#include "fs/model/node_id.h"

namespace shufflefs {

// Thread-safe, but only one pass at a time.
class DentryPinner {
 public:
  // Further files are not pinned. So many files rarely fit in memory, and their
  // inodes take about 1 KiB each.
  static constexpr size_t kLimit = 100000;
  // Files per pass, which takes about 2 ms. A switch waits for two passes at
  // most: a running one and its own.
  static constexpr size_t kBatch = 512;

  // `due` is called on a reading thread, with no lock held. Set it before the
  // first NoteRead.
  void SetDue(std::function<void()> due) { due_ = std::move(due); }
  // A READ of `file` reached the daemon, so the kernel has new pages of it.
  void NoteRead(EntryId file);

  // Begins a hidden directory with the files that were read last, at most
  // kBatch, and returns its name. "" if there are none.
  std::string BeginPass();

  absl::optional<Node> Lookup(absl::string_view name) const;
  // The node that a name in the hidden directory pins.
  absl::optional<Node> Pinned(Node dir, absl::string_view name) const;
  std::unique_ptr<DirHandle> List(Node dir) const;
  static struct stat DirStat(Node node, uid_t owner);

 private:
  std::function<void()> due_;

  mutable Mutex mu_;
  std::vector<bool> waiting_ ABSL_GUARDED_BY(mu_);  // by EntryId: in new_
  std::vector<bool> known_ ABSL_GUARDED_BY(mu_);    // was ever in new_
  size_t known_count_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<EntryId> new_ ABSL_GUARDED_BY(mu_);    // read, not yet pinned
  std::vector<EntryId> files_ ABSL_GUARDED_BY(mu_);  // of this pass
  uint32_t pass_ ABSL_GUARDED_BY(mu_) = 0;
};

// Lists the hidden directory at `path` of the mount, so that the kernel caches
// its dentries. Blocks for about 3 microseconds per file. Another thread must
// serve the mount meanwhile. Returns the number of files.
size_t WalkPins(MountLister& lister, const std::string& path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_KERNEL_CACHE_DENTRY_PINNER_H_
