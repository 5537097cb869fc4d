// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/file_identity.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <xxhash.h>

#include <type_traits>

#include "core/base/files/unique_fd.h"

namespace shufflefs {

static_assert(std::has_unique_object_representations_v<FileIdentity>);

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

int64_t Nanoseconds(const statx_timestamp& time) {
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

FileIdentity IdentityOf(const struct stat& st) {
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .size = static_cast<uint64_t>(st.st_size),
          .mtime_ns = Nanoseconds(st.st_mtim),
          .ctime_ns = Nanoseconds(st.st_ctim)};
}

uint64_t LastingDevice(uint64_t device) {
  return major(device) == 0 ? 0 : device;
}

FileIdentity Lasting(FileIdentity identity) {
  identity.device = LastingDevice(identity.device);
  return identity;
}

FileIdentity LastingIdentityOf(int fd, const struct stat& st) {
  FileIdentity identity = Lasting(IdentityOf(st));
  if (!InodesLast(fd, "")) identity.inode = 0;
  return identity;
}

uint64_t HashOf(const FileIdentity& identity) {
  return XXH3_64bits(&identity, sizeof identity);
}

bool InodesLast(int dir, const char* path) {
  UniqueFd opened;
  if (*path != '\0') {
    opened = UniqueFd(openat(dir, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.valid()) return true;
    dir = opened.get();
  }
  struct statfs fs;
  if (fstatfs(dir, &fs) != 0) return true;
  const auto type = static_cast<uint64_t>(fs.f_type) & 0xffffffff;
  for (const uint64_t unsteady : {0x65735546ull,                 // FUSE
                                  0x4d44ull, 0x2011bab0ull,      // FAT, exFAT
                                  0xff534d42ull, 0xfe534d42ull,  // SMB
                                  0x517bull}) {
    if (type == unsteady) return false;
  }
  return true;
}

}  // namespace shufflefs
