// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/mount_point.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/files/mount_table.h"
#include "core/base/files/unique_fd.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "fs/fuse/run_apart.h"

namespace shufflefs {
namespace {

constexpr int kMaxLayers = 64;

// The topmost mount at `mountpoint`. Reads only a table, and does not touch the
// mount. Without a type if there is none.
MountEntry TopMountAt(const std::string& mountpoint) {
  MountEntry top;
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return top;
  for (const MountEntry& mount : *mounts) {
    if (mount.mountpoint == mountpoint) top = mount;
  }
  return top;
}

// The number that no other mount gets until the next boot. 0 if the kernel has
// none. O_PATH and AT_STATX_DONT_SYNC ask no daemon.
uint64_t UniqueMountId(const std::string& mountpoint) {
  constexpr unsigned int kMountIdUnique = 0x4000;  // STATX_MNT_ID_UNIQUE
  const UniqueFd fd(open(mountpoint.c_str(), O_PATH | O_CLOEXEC));
  struct statx st = {};
  if (!fd.valid() || statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                           kMountIdUnique, &st) != 0) {
    return 0;
  }
  return (st.stx_mask & kMountIdUnique) != 0 ? st.stx_mnt_id : 0;
}

// When a daemon is being killed, the kernel closes its mount soon.
bool IsClosing(int error) { return error == ENOTCONN || error == ECONNABORTED; }

}  // namespace

MountState AskMount(const std::string& mountpoint,
                    std::chrono::milliseconds wait) {
  const absl::optional<std::string> error = RunApart(
      [&] {
        struct statvfs st;
        const bool answers = access(mountpoint.c_str(), X_OK) == 0 &&
                             statvfs(mountpoint.c_str(), &st) == 0;
        return absl::StrCat(answers ? 0 : errno);
      },
      wait);
  if (!error) return MountState::kSilent;
  int number = 0;
  if (!absl::SimpleAtoi(*error, &number) || number == 0) {
    return MountState::kAnswers;
  }
  return IsClosing(number) ? MountState::kDead : MountState::kRefuses;
}

std::string MountName(const std::string& mountpoint) {
  const MountEntry top = TopMountAt(mountpoint);
  if (!top.is_shufflefs()) return "";
  const uint64_t unique = UniqueMountId(mountpoint);
  if (unique != 0) return absl::StrCat(BootId(), " ", unique);
  return absl::StrCat(BootId(), " ", top.device, " ", top.id, " ",
                      absl::CEscape(top.source));
}

absl::Status AbortMount(const std::string& mountpoint) {
  const MountEntry top = TopMountAt(mountpoint);
  if (!top.is_shufflefs()) return absl::NotFoundError(mountpoint);
  // This aborts the mount first, and then may find it busy.
  if (umount2(mountpoint.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW) == 0 ||
      errno == EBUSY) {
    return absl::OkStatus();
  }
  const std::vector<std::string> device = absl::StrSplit(top.device, ':');
  const std::string path =
      absl::StrCat("/sys/fs/fuse/connections/", device.back(), "/abort");
  const UniqueFd abort(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (abort.valid() && write(abort.get(), "1", 1) == 1) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(mountpoint, ": its daemon does not answer, and ", path, ": ",
                   ErrnoStatus(errno, "cannot be written").message()));
}

absl::Status DetachMount(const std::string& mountpoint) {
  if (umount2(mountpoint.c_str(), MNT_DETACH) == 0) return absl::OkStatus();
  const int error = errno;
  const char* argv[] = {"fusermount3", "-uz", "--", mountpoint.c_str(),
                        nullptr};
  pid_t child = 0;
  int state = 0;
  if (posix_spawnp(&child, argv[0], nullptr, nullptr, const_cast<char**>(argv),
                   environ) == 0 &&
      waitpid(child, &state, 0) == child && state == 0) {
    return absl::OkStatus();
  }
  // Its daemon may have ended just now, and the mount with it.
  if (!TopMountAt(mountpoint).is_shufflefs()) return absl::OkStatus();
  return ErrnoStatus(error,
                     absl::StrCat("cannot detach the mount at ", mountpoint));
}

absl::Status ClearDeadMount(
    const std::string& mountpoint,
    const std::function<bool(const std::string&)>& daemon_is_dying) {
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    if (!TopMountAt(mountpoint).is_shufflefs()) return absl::OkStatus();
    switch (AskMount(mountpoint, kPatience)) {
      case MountState::kAnswers:
        return absl::FailedPreconditionError(absl::StrCat(
            mountpoint, ": a shufflefs is mounted there already, which shows ",
            TopMountAt(mountpoint).source,
            "; use it, or end it with: shufflectl umount ", mountpoint));
      case MountState::kRefuses:
        return absl::FailedPreconditionError(
            absl::StrCat(mountpoint,
                         ": another user's shufflefs is mounted there; choose "
                         "another mount point"));
      case MountState::kSilent:
        if (!daemon_is_dying || !daemon_is_dying(MountName(mountpoint))) {
          return absl::FailedPreconditionError(
              absl::StrCat(mountpoint,
                           ": a shufflefs is mounted there already, and does "
                           "not answer; end it with: shufflectl umount -l ",
                           mountpoint));
        }
        RETURN_IF_ERROR(AbortMount(mountpoint));
        break;
      case MountState::kDead:
        Log(LogLevel::kInfo, absl::StrCat(mountpoint,
                                          ": detaching the mount "
                                          "that a dead daemon left"));
        RETURN_IF_ERROR(DetachMount(mountpoint));
        break;
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat(mountpoint,
                   ": too many dead mounts; end them with: "
                   "shufflectl umount -l ",
                   mountpoint));
}

}  // namespace shufflefs
