// SPDX-License-Identifier: Apache-2.0
// Keeps the kernel's cached pages over an epoch switch. The kernel drops an
// inode and its pages with its last dentry, and a switch takes the dentry of
// every name that is bound anew. So before it, the daemon lists a hidden
// directory that holds each file that was read once more: a second dentry an
// inode. They are unused dentries, so memory pressure still reclaims them.
#ifndef SHUFFLEFS_FS_PINS_H_
#define SHUFFLEFS_FS_PINS_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/mutex.h"
#include "core/types.h"
#include "fs/dir_handle.h"
#include "fs/node_id.h"

namespace shufflefs {

// Thread-safe.
class Pins {
 public:
  // Files beyond this are not pinned: a switch must stay short, and what is
  // read so widely rarely fits in memory.
  static constexpr size_t kLimit = 100000;

  void NoteRead(EntryId file);
  size_t size() const;

  // Starts a new hidden directory with what was read so far and returns its
  // name; the last one's name goes to `last` ("" if there was none).
  std::string Renew(std::string& last);

  absl::optional<Node> Lookup(absl::string_view name) const;
  // The node that a name in the hidden directory pins.
  absl::optional<Node> Pinned(Node dir, absl::string_view name) const;
  std::unique_ptr<DirHandle> List(Node dir) const;
  static struct stat DirStat(Node node, uid_t owner);

 private:
  mutable Mutex mu_;
  std::vector<bool> read_ ABSL_GUARDED_BY(mu_);  // by EntryId
  std::vector<EntryId> files_ ABSL_GUARDED_BY(mu_);
  uint32_t pass_ ABSL_GUARDED_BY(mu_) = 0;
};

// Lists the hidden directory `name` of the mount at `mountpoint`, so that the
// kernel takes up its dentries. Blocks for about 3 microseconds a file; another
// thread must serve the mount meanwhile. Returns the number of files.
size_t WalkPins(const std::string& mountpoint, const std::string& name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_PINS_H_
