// SPDX-License-Identifier: Apache-2.0
// Keeps the kernel's cached pages over an epoch switch. The kernel drops an
// inode and its pages with its last dentry, and a switch takes the dentry of
// every name that is bound anew. So each file that was read gets a second
// dentry, in a hidden directory that the daemon lists once and nobody ever
// looks up again. They are unused dentries, so memory pressure still reclaims
// them; a file that is then read from the source once more is pinned anew.
#ifndef SHUFFLEFS_FS_KERNEL_CACHE_PINS_H_
#define SHUFFLEFS_FS_KERNEL_CACHE_PINS_H_

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

// Thread-safe, but one pass at a time.
class Pins {
 public:
  // Files beyond this are not pinned: what is read so widely rarely fits in
  // memory, and their inodes take about 1 KiB each.
  static constexpr size_t kLimit = 100000;
  // Files of a pass, which takes about 2 ms. A switch waits for two at most:
  // one that is under way and one of its own.
  static constexpr size_t kBatch = 512;

  // `due` is called on a reading thread, with no lock held. Before the first
  // NoteRead.
  void SetDue(std::function<void()> due) { due_ = std::move(due); }
  // A READ of `file` reached the daemon, so the kernel has new pages of it.
  void NoteRead(EntryId file);

  // Starts a hidden directory with what was read last, at most kBatch files,
  // and returns its name; "" where there is nothing.
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
  std::vector<bool> known_ ABSL_GUARDED_BY(mu_);    // ever in new_
  size_t known_count_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<EntryId> new_ ABSL_GUARDED_BY(mu_);    // read, not yet pinned
  std::vector<EntryId> files_ ABSL_GUARDED_BY(mu_);  // of this pass
  uint32_t pass_ ABSL_GUARDED_BY(mu_) = 0;
};

// Lists the hidden directory at `path` of the mount, so that the kernel takes
// up its dentries. Blocks for about 3 microseconds a file; another thread must
// serve the mount meanwhile. Returns the number of files.
size_t WalkPins(MountLister& lister, const std::string& path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_KERNEL_CACHE_PINS_H_
