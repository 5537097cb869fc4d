// SPDX-License-Identifier: Apache-2.0
#include "core/source/file_systems.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace shufflefs {
namespace {

constexpr auto kFuse = 0x65735546ull;

// Not fusectl, whose files are the kernel's.
bool IsFuseType(absl::string_view type) {
  return type == "fuse" || type == "fuseblk" || type == "virtiofs" ||
         absl::StartsWith(type, "fuse.") || absl::StartsWith(type, "fuseblk.");
}

bool IsBelow(const MountEntry& mount, absl::string_view root) {
  return absl::StartsWith(mount.mountpoint,
                          root == "/" ? "/" : absl::StrCat(root, "/"));
}

std::string PathOf(int fd) {
  std::error_code unknown;
  return std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd),
                                       unknown);
}

bool AnyMount(const std::function<bool(const MountEntry&)>& is_it) {
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  return mounts.ok() && std::any_of(mounts->begin(), mounts->end(), is_it);
}

}  // namespace

bool IsFuseBelow(const MountEntry& mount, absl::string_view root) {
  return IsFuseType(mount.type) && IsBelow(mount, root);
}

bool HasFuse(const SourceDir& source) {
  if (source.place().fs_type == kFuse) return true;
  const std::string root = PathOf(source.fd());
  return AnyMount(
      [&](const MountEntry& mount) { return IsFuseBelow(mount, root); });
}

bool IsIdmapped(const MountEntry& mount, uint64_t mount_id,
                absl::string_view root) {
  const std::vector<absl::string_view> flags = absl::StrSplit(mount.flags, ',');
  return std::find(flags.begin(), flags.end(), "idmapped") != flags.end() &&
         (static_cast<uint64_t>(mount.id) == mount_id || IsBelow(mount, root));
}

bool HasIdmap(int fd) {
  struct statx st;
  // Kernels that know no number of a mount know no such maps either.
  if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0 ||
      (st.stx_mask & STATX_MNT_ID) == 0) {
    return false;
  }
  const std::string root = PathOf(fd);
  return AnyMount([&](const MountEntry& mount) {
    return IsIdmapped(mount, st.stx_mnt_id, root);
  });
}

bool IsMemoryFs(uint64_t type) {
  return type == 0x01021994 || type == 0x858458f6;  // tmpfs, ramfs
}

bool IsNetworkFs(uint64_t type) {
  for (uint64_t known :
       {0x6969ull, 0xff534d42ull, 0xfe534d42ull, 0x517bull,  // NFS, SMB
        kFuse, 0x01021997ull,                                // FUSE, 9P
        0x00c36400ull, 0x0bd00bd0ull,                        // Ceph, Lustre
        0x47504653ull, 0x19830326ull,                        // GPFS, BeeGFS
        0x5346414full, 0x6b414653ull}) {                     // AFS
    if (type == known) return true;
  }
  return false;
}

bool IsLocalFs(uint64_t type) {
  if (AnswersFromMemory(type)) return true;
  for (uint64_t known : {0x4d44ull, 0x2011bab0ull,      // FAT, exFAT
                         0x7366746eull, 0x9660ull,      // NTFS, ISO 9660
                         0x15013346ull, 0x2fc12fc1ull,  // UDF, ZFS
                         0x3153464aull, 0x3434ull}) {   // JFS, NILFS
    if (type == known) return true;
  }
  return false;
}

bool AnswersFromMemory(uint64_t type) {
  if (IsMemoryFs(type)) return true;
  for (uint64_t known : {0xef53ull, 0x58465342ull,      // ext, XFS
                         0x9123683eull, 0xf2f52010ull,  // btrfs, F2FS
                         0x73717368ull, 0xe0f5e1e2ull,  // squashfs, EROFS
                         0xca451a4eull}) {              // bcachefs
    if (type == known) return true;
  }
  return false;
}

FileSystemTraits FileSystems::Of(uint64_t device, int fd) {
  {
    MutexLock lock(mu_);
    auto found = traits_.find(device);
    if (found != traits_.end()) return found->second;
  }
  FileSystemTraits traits;
  struct statfs fs;
  const bool known = fstatfs(fd, &fs) == 0;
  const auto type = static_cast<uint64_t>(fs.f_type);
  traits.remote = !known || IsNetworkFs(type);
  traits.waits = !known || !IsLocalFs(type);
  MutexLock lock(mu_);
  return traits_.try_emplace(device, traits).first->second;
}

void FileSystems::Know(uint64_t device, const FileSystemTraits& traits) {
  MutexLock lock(mu_);
  traits_[device] = traits;
}

void FileSystems::RefusedDirect(uint64_t device) {
  MutexLock lock(mu_);
  traits_[device].direct = false;
}

void FileSystems::RefusedDropBehind(uint64_t device) {
  MutexLock lock(mu_);
  traits_[device].drop_behind = false;
}

}  // namespace shufflefs
