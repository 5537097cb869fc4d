// SPDX-License-Identifier: Apache-2.0
#include "fs/backing/own_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

#include "core/base/status.h"

namespace shufflefs {
namespace {

// Only what the kernel knows: a thread that waits for its own mount cannot die.
dev_t DeviceAt(int directory, const char* path) {
  struct statx st;
  const int how = AT_STATX_DONT_SYNC | AT_EMPTY_PATH;
  if (statx(directory, path, how, STATX_TYPE, &st) != 0) return 0;
  return makedev(st.stx_dev_major, st.stx_dev_minor);
}

}  // namespace

OwnMount::OwnMount(std::string mountpoint)
    : mountpoint_(std::move(mountpoint)),
      device_(DeviceAt(AT_FDCWD, mountpoint_.c_str())) {}

absl::StatusOr<UniqueFd> OwnMount::Enter() const {
  UniqueFd root(open_tree(AT_FDCWD, mountpoint_.c_str(),
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!root.valid()) return ErrnoStatus(errno, "open_tree");
  if (device_ == 0 || DeviceAt(root.get(), "") != device_) {
    return absl::NotFoundError(mountpoint_);
  }
  // What is mounted below the mount point does not come into the copy.
  struct mount_attr how = {};
  how.propagation = MS_PRIVATE;
  if (mount_setattr(root.get(), "", AT_EMPTY_PATH, &how, sizeof(how)) != 0) {
    return ErrnoStatus(errno, "mount_setattr");
  }
  return root;
}

}  // namespace shufflefs
