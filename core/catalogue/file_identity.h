// SPDX-License-Identifier: Apache-2.0
// FileIdentity says which file of the source it is and in which state. Bytes
// that were read, or facts that were learnt from them, belong to a file only if
// its identity is the same.
#ifndef SHUFFLEFS_CORE_CATALOGUE_FILE_IDENTITY_H_
#define SHUFFLEFS_CORE_CATALOGUE_FILE_IDENTITY_H_

#include <sys/stat.h>

#include <cstdint>

namespace shufflefs {

// A writer can set size and mtime at will: `touch -r` sets the time back. The
// inode detects another file of the same name, and nobody can set ctime.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0 if numbers do not last (InodesLast)
  uint64_t size = 0;   // bytes
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

int64_t Nanoseconds(const timespec& time);
int64_t Nanoseconds(const statx_timestamp& time);

FileIdentity IdentityOf(const struct stat& st);

// The identity in a form that may be saved and compared after a reboot. The
// kernel renumbers file systems without a device of their own (NFS, btrfs) at
// each mount, so their device becomes 0.
FileIdentity Lasting(FileIdentity identity);
uint64_t LastingDevice(uint64_t device);

// The lasting identity of an open file with stat `st`.
FileIdentity LastingIdentityOf(int fd, const struct stat& st);

// 64 bits over all fields as they are.
uint64_t HashOf(const FileIdentity& identity);

// Returns whether a file keeps its inode number as long as it exists. FUSE, FAT
// and SMB may change it once the kernel forgot the file. Concerns the file at
// `path` relative to `dir`, or `dir` if `path` is "". True if it cannot be
// determined. May block on the source.
bool InodesLast(int dir, const char* path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_FILE_IDENTITY_H_
