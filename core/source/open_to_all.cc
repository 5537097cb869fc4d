// SPDX-License-Identifier: Apache-2.0
#include "core/source/open_to_all.h"

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/dir_files.h"
#include "core/base/files/unique_fd.h"
#include "core/source/posix_acl.h"
#include "core/source/source_dir.h"

namespace shufflefs {

bool AllMayReach(int dir, const OverflowIds& ids) {
  UniqueFd walked;
  struct stat here;
  if (fstat(dir, &here) != 0) return false;
  for (;;) {
    const int fd = walked.valid() ? walked.get() : dir;
    if (!HasBits(ShownModeAt(fd, ".", here, ids), kAllSearch)) return false;
    UniqueFd up(openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat above;
    if (!up.valid() || fstat(up.get(), &above) != 0) return false;
    if (SameFile(above, here)) return true;
    here = above;
    walked = std::move(up);
  }
}

bool AllMayRead(int fd, const struct stat& found) {
  // The path by which it was opened may lead over links.
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(
      absl::StrCat("/proc/self/fd/", fd), error);
  if (error) return false;
  const absl::StatusOr<SourceDir> dir = SourceDir::At(path.parent_path());
  struct stat named;
  return dir.ok() &&
         fstatat(dir->fd(), path.filename().c_str(), &named,
                 AT_SYMLINK_NOFOLLOW) == 0 &&
         SameFile(named, found) &&
         HasBits(ShownModeOf(fd, found, dir->overflow_ids()), kAllRead) &&
         AllMayReach(dir->fd(), dir->overflow_ids());
}

}  // namespace shufflefs
