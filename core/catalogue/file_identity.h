// SPDX-License-Identifier: Apache-2.0
// Which file of the source it is, and in which state: what has to be the same
// for bytes that were read, or what was learnt of them, to be of this file.
#ifndef SHUFFLEFS_CORE_CATALOGUE_FILE_IDENTITY_H_
#define SHUFFLEFS_CORE_CATALOGUE_FILE_IDENTITY_H_

#include <sys/stat.h>

#include <cstdint>

namespace shufflefs {

// Size and mtime are at the disposal of whoever writes the file: `touch -r`
// sets the time back. The inode tells a file that took another one's name, and
// nobody can set ctime.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0 where numbers do not last (InodesLast)
  uint64_t size = 0;   // bytes
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

int64_t Nanoseconds(const timespec& time);
int64_t Nanoseconds(const statx_timestamp& time);

FileIdentity IdentityOf(const struct stat& st);

// The same as it may be saved and compared after a restart of the machine: the
// kernel numbers file systems without a device of their own (NFS, btrfs) anew
// at each mount, and so gives their device as 0.
FileIdentity Lasting(FileIdentity identity);
uint64_t LastingDevice(uint64_t device);

// That of an open file, of which `st` is.
FileIdentity LastingIdentityOf(int fd, const struct stat& st);

// 64 bits over all of it, as it is.
uint64_t HashOf(const FileIdentity& identity);

// Whether a file keeps its inode number while it is there: FUSE, FAT and SMB
// may give it another one once the kernel forgot it. Of the file at `path`
// relative to `dir`, or of `dir` if that is "". True where nobody can tell.
// May block for the source.
bool InodesLast(int dir, const char* path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_FILE_IDENTITY_H_
