// SPDX-License-Identifier: Apache-2.0
// Lists directories of the mount, so that the kernel takes up its dentries, in
// a process of its own. A thread of the daemon that waits for its own mount
// cannot be killed while that is unanswered, and would keep /dev/fuse open: a
// kill -9 would leave daemon, mount and readers waiting for each other for
// ever. This process holds nothing, so what it waits for ends with the daemon.
#ifndef SHUFFLEFS_FS_KERNEL_CACHE_MOUNT_LISTER_H_
#define SHUFFLEFS_FS_KERNEL_CACHE_MOUNT_LISTER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe; listings take turns, a few hundred entries each. Where the
// process is gone nothing is listed, and so names are looked up one by one.
class MountLister {
 public:
  // Starts the process. REQUIRES: no other thread runs, nothing is mounted.
  static absl::StatusOr<std::unique_ptr<MountLister>> Start();
  // Ends the process, and does not wait for it.
  ~MountLister();
  MountLister(const MountLister&) = delete;
  MountLister& operator=(const MountLister&) = delete;

  // Its requests come from there.
  pid_t pid() const { return pid_; }

  class Listing {
   public:
    Listing(MountLister& lister, const std::string& path);
    ~Listing();
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    // Takes the next few hundred entries up and returns their number; nothing
    // at the end or on an error. Another thread must serve the mount meanwhile.
    absl::optional<size_t> Next();

   private:
    MountLister& lister_;
    const int64_t directory_;  // a descriptor there, or -errno
  };

 private:
  MountLister(pid_t pid, UniqueFd socket);
  // The process's answer, -errno where there is none.
  int64_t Ask(char what, int64_t directory, const std::string& path)
      ABSL_LOCKS_EXCLUDED(mu_);

  const pid_t pid_;
  const UniqueFd socket_;
  Mutex mu_;  // held over a question and its answer
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_KERNEL_CACHE_MOUNT_LISTER_H_
