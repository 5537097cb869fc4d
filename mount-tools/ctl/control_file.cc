// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/control_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr int kHold = O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC;

bool OnDevice(int fd, dev_t device) {
  struct stat st;
  return fstat(fd, &st) == 0 && st.st_dev == device;
}

// For kernels before 5.6 and sandboxes without openat2. Returns a descriptor or
// -errno.
int OpenByComponents(int root, const std::string& name, int flags) {
  struct stat st;
  if (fstat(root, &st) != 0) return -errno;
  std::vector<std::string> parts = absl::StrSplit(name, '/', absl::SkipEmpty());
  if (parts.empty()) return -EINVAL;
  const std::string last = parts.back();
  parts.pop_back();
  UniqueFd held;
  int above = root;
  for (const std::string& part : parts) {
    if (part == "..") return -EXDEV;
    UniqueFd next(openat(above, part.c_str(), kHold));
    if (!next.valid()) return -errno;
    if (!OnDevice(next.get(), st.st_dev)) return -EXDEV;
    held = std::move(next);
    above = held.get();
  }
  const int fd = openat(above, last.c_str(), flags | O_NOFOLLOW);
  return fd < 0 ? -errno : fd;
}

int OpenBeneath(int root, const std::string& name, int flags) {
  open_how how = {};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  const int fd = static_cast<int>(
      syscall(SYS_openat2, root, name.c_str(), &how, sizeof how));
  if (fd >= 0) return fd;
  // Old sandboxes answer EPERM to system calls that they do not know.
  if (errno != ENOSYS && errno != EPERM) return -errno;
  return OpenByComponents(root, name, flags);
}

}  // namespace

absl::StatusOr<UniqueFd> OpenControlFile(const std::string& mountpoint,
                                         const std::string& name, int flags) {
  const std::string path =
      absl::StrCat(mountpoint == "/" ? "" : mountpoint, "/", name);
  const UniqueFd root(
      open(mountpoint.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrnoStatus(errno, path);
  // Without O_NONBLOCK a pipe would hang.
  const int opened =
      OpenBeneath(root.get(), name, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (opened < 0) return ErrnoStatus(-opened, path);
  UniqueFd fd(opened);
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(st.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": is no regular file, so this is no mount of shufflefs"));
  }
  return fd;
}

}  // namespace shufflefs
