// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/umount/end_mount.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "fs/fuse/mount_point.h"
#include "mount-tools/ctl/umount/daemon_end.h"
#include "mount-tools/ctl/umount/namespaces.h"
#include "mount-tools/daemon/unmount.h"

namespace shufflefs {

absl::Status EndMount(const std::string& mountpoint,
                      const EndMountOptions& options) {
  if (chdir("/") != 0) return ErrnoStatus(errno, "/");
  const MountState state = AskMount(mountpoint, kPatience);
  // Otherwise readers there would wait for ever.
  if (options.lazy && state == MountState::kSilent) {
    RETURN_IF_ERROR(AbortMount(mountpoint));
  }
  UnmountOptions unmount;
  unmount.lazy = options.lazy || state == MountState::kDead;
  unmount.wait = options.wait;
  const bool waits = state == MountState::kAnswers && !options.lazy &&
                     options.wait > std::chrono::milliseconds(0);
  if (!waits) return Unmount(mountpoint, unmount);
  DaemonEnd daemon(mountpoint, kPatience);
  const std::string device = DeviceOfMount(mountpoint);
  RETURN_IF_ERROR(Unmount(mountpoint, unmount));
  if (daemon.Await(std::chrono::steady_clock::now() + options.wait)) {
    return absl::OkStatus();
  }
  const std::string process = ProcessThatSees(device);
  if (!process.empty()) {
    return absl::DeadlineExceededError(absl::StrCat(
        mountpoint, ": unmounted here, but process ", process,
        " still has it, in a mount namespace of its own or at another path; "
        "end that process, or unmount it there"));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      mountpoint,
      ": unmounted, but its daemon has not ended yet; wait before you mount "
      "again"));
}

}  // namespace shufflefs
