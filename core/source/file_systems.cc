// SPDX-License-Identifier: Apache-2.0
#include "core/source/file_systems.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/escaping.h"
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

// `point`, the fifth word of a line of mountinfo, is escaped as in C.
bool IsBelow(absl::string_view point, absl::string_view root) {
  std::string at;
  return absl::CUnescape(point, &at) &&
         absl::StartsWith(at, root == "/" ? "/" : absl::StrCat(root, "/"));
}

std::string PathOf(int fd) {
  std::error_code unknown;
  return std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd),
                                       unknown);
}

bool AnyMount(const std::function<bool(absl::string_view line)>& is_it) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (is_it(line)) return true;
  }
  return false;
}

}  // namespace

bool ShowsFuseBelow(absl::string_view mountinfo_line, absl::string_view root) {
  const std::vector<std::string> words = absl::StrSplit(mountinfo_line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  return dash - words.begin() > 4 && words.end() - dash > 1 &&
         IsFuseType(*(dash + 1)) && IsBelow(words[4], root);
}

bool HasFuse(const SourceDir& source) {
  if (source.place().fs_type == kFuse) return true;
  const std::string root = PathOf(source.fd());
  return AnyMount(
      [&](absl::string_view line) { return ShowsFuseBelow(line, root); });
}

// The number is the first word, and the mount's own options are the sixth.
bool ShowsIdmap(absl::string_view mountinfo_line, uint64_t mount_id,
                absl::string_view root) {
  const std::vector<std::string> words = absl::StrSplit(mountinfo_line, ' ');
  if (words.size() < 6) return false;
  const std::vector<absl::string_view> options = absl::StrSplit(words[5], ',');
  return std::find(options.begin(), options.end(), "idmapped") !=
             options.end() &&
         (words[0] == absl::StrCat(mount_id) || IsBelow(words[4], root));
}

bool HasIdmap(int fd) {
  struct statx st;
  // Kernels that know no number of a mount know no such maps either.
  if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0 ||
      (st.stx_mask & STATX_MNT_ID) == 0) {
    return false;
  }
  const std::string root = PathOf(fd);
  return AnyMount([&](absl::string_view line) {
    return ShowsIdmap(line, st.stx_mnt_id, root);
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
