// SPDX-License-Identifier: Apache-2.0
#include "core/source/file_check.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/source/posix_acl.h"

namespace shufflefs {

namespace {

absl::Status Stale(absl::string_view how) {
  return ErrnoStatus(
      ESTALE, absl::StrCat("changed since the catalogue was made (", how, ")"));
}

bool SameInode(const struct statx& now, const FileAttributes& known) {
  return makedev(now.stx_dev_major, now.stx_dev_minor) == known.device &&
         (known.inode == 0 || now.stx_ino == known.inode);
}

absl::Status LostRights() {
  return ErrnoStatus(EACCES, "permission changed since the catalogue was made");
}

absl::Status CheckRights(const struct statx& now, const FileAttributes& known,
                         const absl::StatusOr<mode_t>& within) {
  const auto lost = [&known](mode_t mode) { return known.mode & ~mode & 0444; };
  if (lost(now.stx_mode) != 0) return LostRights();
  if (now.stx_uid != known.uid || now.stx_gid != known.gid) {
    return LostRights();
  }
  if (!NeedsAcl(now, known)) return absl::OkStatus();
  // An owner without an id was shown what every class has. If a class loses
  // some of that, the comparison notices.
  if (within.ok()) return lost(*within) == 0 ? absl::OkStatus() : LostRights();
  // If only the owner was shown a right, the list does not matter.
  return (known.mode & 0044) == 0 ? absl::OkStatus() : within.status();
}

}  // namespace

bool NeedsAcl(const struct statx& now, const FileAttributes& known) {
  return known.serves_others && AclMayLimit(now.stx_mode);
}

absl::Status CheckUnchanged(int fd, const struct statx& now,
                            const FileAttributes& known) {
  return CheckUnchanged(now, known,
                        NeedsAcl(now, known)
                            ? ModeWithinAclOf(fd, now.stx_mode, now.stx_uid)
                            : now.stx_mode);
}

absl::Status CheckUnchanged(const struct statx& now,
                            const FileAttributes& known,
                            const absl::StatusOr<mode_t>& within) {
  if (!S_ISREG(now.stx_mode) || now.stx_size != known.size ||
      Nanoseconds(now.stx_mtime) != known.mtime_ns) {
    return Stale(
        absl::StrCat(known.size, " bytes then, ", now.stx_size, " now"));
  }
  if (!SameInode(now, known)) return Stale("another file has its name now");
  if (now.stx_nlink == 0 && known.nlink != 0) return Stale("it is removed");
  RETURN_IF_ERROR(CheckRights(now, known, within));
  if (Nanoseconds(now.stx_ctime) != known.ctime_ns &&
      now.stx_mode == known.source_mode && now.stx_nlink == known.nlink) {
    return Stale("its contents or its metadata changed");
  }
  return absl::OkStatus();
}

absl::Status CheckUnchanged(int fd, const FileAttributes& known) {
  struct statx now;
  if (statx(fd, "", AT_EMPTY_PATH, kLookMask, &now) != 0) {
    return ErrnoStatus(errno, "statx");
  }
  return CheckUnchanged(fd, now, known);
}

absl::Status OpenFailure(int error) {
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
    return ErrnoStatus(ESTALE, "gone since the catalogue was made");
  }
  if (error == ENXIO || error == ENODEV) {  // a socket, a device
    return ErrnoStatus(ESTALE, "no regular file any more");
  }
  return ErrnoStatus(error, "open");
}

}  // namespace shufflefs
