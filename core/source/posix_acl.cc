// SPDX-License-Identifier: Apache-2.0
#include "core/source/posix_acl.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/files/dir_files.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr uint32_t kAclVersion = 2;
constexpr mode_t kNotOwners = 0077;
constexpr mode_t kBits = 7;
constexpr size_t kXattrLimit = 65536;  // the kernel's limit

// Tags of entries, as the kernel writes them.
enum Tag : uint16_t {
  kUserObj = 0x01,
  kUser = 0x02,
  kGroupObj = 0x04,
  kGroup = 0x08,
  kMask = 0x10,
  kOther = 0x20,
};

struct Entry {
  uint16_t tag;
  uint16_t bits;
  uint32_t id;
};
static_assert(sizeof(Entry) == 8);

// The rights in a list, before its mask is applied.
struct Rights {
  mode_t user = 0;
  mode_t group = 0;
  mode_t other = 0;
  mode_t mask = kBits;
  // The rights that named users and groups lack. The mask applies only to these
  // and to the owning group.
  mode_t users_lack = 0;
  mode_t groups_lack = 0;
  bool names_users = false;
  bool names_groups = false;
  unsigned needed = 0;  // which of the three mandatory entries were found
};

Rights RightsOf(absl::optional<uid_t> owner, absl::string_view entries) {
  Rights rights;
  for (; !entries.empty(); entries.remove_prefix(sizeof(Entry))) {
    Entry entry;
    std::memcpy(&entry, entries.data(), sizeof entry);
    const mode_t bits = le16toh(entry.bits) & kBits;
    const uint16_t tag = le16toh(entry.tag);
    if (tag == kUserObj) rights.user = bits;
    if (tag == kGroupObj) rights.group = bits;
    if (tag == kOther) rights.other = bits;
    if (tag == kMask) rights.mask = bits;
    // The owner's own entry takes precedence over one that names the owner.
    if (tag == kUser && owner != le32toh(entry.id)) {
      rights.names_users = true;
      rights.users_lack |= ~bits;
    }
    if (tag == kGroup) {
      rights.names_groups = true;
      rights.groups_lack |= ~bits;
    }
    if (tag == kUserObj || tag == kGroupObj || tag == kOther) ++rights.needed;
  }
  return rights;
}

timespec TimeOf(const statx_timestamp& time) {
  return {time.tv_sec, static_cast<long>(time.tv_nsec)};
}

struct stat StatOf(const struct statx& found) {
  struct stat st = {};
  st.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  st.st_rdev = makedev(found.stx_rdev_major, found.stx_rdev_minor);
  st.st_ino = found.stx_ino;
  st.st_mode = found.stx_mode;
  st.st_nlink = found.stx_nlink;
  st.st_uid = found.stx_uid;
  st.st_gid = found.stx_gid;
  st.st_size = static_cast<off_t>(found.stx_size);
  st.st_blocks = static_cast<blkcnt_t>(found.stx_blocks);
  st.st_blksize = static_cast<blksize_t>(found.stx_blksize);
  st.st_atim = TimeOf(found.stx_atime);
  st.st_mtim = TimeOf(found.stx_mtime);
  st.st_ctim = TimeOf(found.stx_ctime);
  return st;
}

// `get` writes the list of one file. Errors: its own.
template <typename Get>
absl::StatusOr<mode_t> ReadWithin(mode_t mode, absl::optional<uid_t> owner,
                                  const Get& get) {
  if (!AclMayLimit(mode)) return mode;
  std::string acl(kAclBytes, '\0');
  for (;;) {
    const ssize_t length = get(acl.data(), acl.size());
    if (auto within =
            ModeWithinAnswer(mode, owner, length < 0 ? -errno : length, acl)) {
      return *within;
    }
  }
}

// The same, for any owner. If the list cannot be read, only the owner's bits
// remain.
template <typename Get>
RightsNow Limited(const struct stat& found, const OverflowIds& ids,
                  const Get& get) {
  RightsNow now{.source = found, .mode = found.st_mode, .list = {}};
  if (S_ISLNK(found.st_mode)) return now;
  const absl::StatusOr<mode_t> within =
      ReadWithin(found.st_mode, ids.UserOf(found.st_uid), get);
  now.list = within.status();
  now.mode = ids.Limit(within.value_or(found.st_mode & ~kNotOwners),
                       found.st_uid, found.st_gid);
  return now;
}

}  // namespace

mode_t ModeWithinAcl(mode_t mode, absl::optional<uid_t> owner,
                     absl::string_view acl) {
  uint32_t version = 0;
  if (acl.size() >= sizeof version) {
    std::memcpy(&version, acl.data(), sizeof version);
    acl.remove_prefix(sizeof version);
  }
  if (le32toh(version) != kAclVersion || acl.size() % sizeof(Entry) != 0) {
    return mode & ~kNotOwners;
  }
  const Rights rights = RightsOf(owner, acl);
  if (rights.needed != 3) return mode & ~kNotOwners;
  const mode_t masked = ~rights.mask;
  const mode_t users_lack = rights.names_users ? rights.users_lack | masked : 0;
  const mode_t groups_lack =
      rights.names_groups ? rights.groups_lack | masked : 0;
  // Named groups take nothing from the owning group's members: any entry that
  // matches a member may grant the request.
  const mode_t group = rights.group & rights.mask & ~users_lack;
  const mode_t other = rights.other & ~users_lack & ~groups_lack;
  return mode & (~0777u | rights.user << 6 | group << 3 | other);
}

bool AclMayLimit(mode_t mode) {
  return !S_ISLNK(mode) && (mode & kNotOwners) != 0;
}

absl::optional<absl::StatusOr<mode_t>> ModeWithinAnswer(
    mode_t mode, absl::optional<uid_t> owner, int64_t result,
    std::string& acl) {
  using Answer = absl::StatusOr<mode_t>;
  if (result >= 0) {
    acl.resize(static_cast<size_t>(result));
    return Answer(ModeWithinAcl(mode, owner, acl));
  }
  // There is no list.
  if (result == -ENODATA || result == -EOPNOTSUPP) return Answer(mode);
  if (result != -ERANGE || acl.size() >= kXattrLimit) {
    return Answer(ErrnoStatus(static_cast<int>(-result), kAclXattr));
  }
  acl.resize(acl.size() * 4);
  return absl::nullopt;
}

absl::StatusOr<mode_t> ModeWithinAclOf(int fd, mode_t mode, uid_t owner) {
  return ReadWithin(mode, owner, [fd](char* out, size_t size) {
    return fgetxattr(fd, kAclXattr, out, size);
  });
}

mode_t ShownModeOf(int fd, const struct stat& found, const OverflowIds& ids) {
  const auto get = [fd](char* out, size_t size) {
    return fgetxattr(fd, kAclXattr, out, size);
  };
  return Limited(found, ids, get).mode;
}

mode_t ShownModeAt(int dir, const char* name, const struct stat& found,
                   const OverflowIds& ids) {
  const auto get = [&](char* out, size_t size) {
    const std::string path = absl::StrCat("/proc/self/fd/", dir, "/", name);
    return lgetxattr(path.c_str(), kAclXattr, out, size);
  };
  return Limited(found, ids, get).mode;
}

absl::StatusOr<RightsNow> ReadRights(const SourceDir& source,
                                     absl::string_view path,
                                     const RightsQuestion& asked) {
  ASSIGN_OR_RETURN(const UniqueFd held, source.Open(path, O_PATH | O_NOFOLLOW));
  absl::StatusOr<RightsNow> now = ReadRights(source, held, asked);
  if (!now.ok()) return Annotate(now.status(), path);
  return now;
}

absl::StatusOr<RightsNow> ReadRights(const SourceDir& source,
                                     const UniqueFd& held,
                                     const RightsQuestion& asked) {
  RightsNow now;
  const int flags = AT_EMPTY_PATH | (asked.server ? AT_STATX_FORCE_SYNC : 0);
  struct statx found;
  if (statx(held.get(), "", flags, STATX_BASIC_STATS, &found) != 0) {
    return ErrnoStatus(errno, "statx");
  }
  now.source = StatOf(found);
  now.mode = now.source.st_mode;
  if (!asked.list) return now;
  // Uses the descriptor's own name, because a path may lead elsewhere by now.
  const auto get = [&](char* out, size_t size) {
    const std::string self = absl::StrCat("/proc/self/fd/", held.get());
    return getxattr(self.c_str(), kAclXattr, out, size);
  };
  return Limited(now.source, source.overflow_ids(), get);
}

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
  const std::filesystem::path path =
      std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd), error);
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
