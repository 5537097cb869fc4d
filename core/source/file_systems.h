// SPDX-License-Identifier: Apache-2.0
// Features of the file systems below a source, as observed by reading from
// them.
#ifndef SHUFFLEFS_CORE_SOURCE_FILE_SYSTEMS_H_
#define SHUFFLEFS_CORE_SOURCE_FILE_SYSTEMS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/base/files/mount_table.h"
#include "core/base/mutex.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// These take the f_type of statfs.
bool IsMemoryFs(uint64_t type);   // tmpfs, ramfs
bool IsNetworkFs(uint64_t type);  // NFS, SMB, FUSE, …: a stat may take long
// Returns whether its calls wait for a device of this machine at most. Not so
// for servers, for overlays of what may be one, and for what is not known here.
bool IsLocalFs(uint64_t type);
// Returns whether the source, or something mounted below it, is FUSE.
bool HasFuse(const SourceDir& source);
// Returns whether a mount is FUSE below the directory `root`: an absolute path
// without links.
bool IsFuseBelow(const MountEntry& mount, absl::string_view root);
// Returns whether a mount gives files other owners, by a map of ids (idmapped),
// and is the one with the number `mount_id` or one below the directory `root`.
bool IsIdmapped(const MountEntry& mount, uint64_t mount_id,
                absl::string_view root);
// The same of the directory `fd`. Reads /proc.
bool HasIdmap(int fd);
// Returns whether opening a file whose name the kernel knows, and reading its
// cached bytes, waits for no device and no server.
bool AnswersFromMemory(uint64_t type);

struct FileSystemTraits {
  bool remote = false;      // as IsNetworkFs says
  bool waits = false;       // not IsLocalFs: any call may hang
  bool direct = true;       // O_DIRECT was not refused yet
  bool drop_behind = true;  // RWF_DONTCACHE was not refused yet
};

// Thread-safe. A source may span several file systems. There is one entry per
// device.
class FileSystems {
 public:
  // `fd` is a file of `device`. Asks the file system once, which may block.
  FileSystemTraits Of(uint64_t device, int fd);
  // Sets the traits of a device, so that it is not asked.
  void Know(uint64_t device, const FileSystemTraits& traits);
  void RefusedDirect(uint64_t device);
  void RefusedDropBehind(uint64_t device);

 private:
  Mutex mu_;
  absl::flat_hash_map<uint64_t, FileSystemTraits> traits_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_FILE_SYSTEMS_H_
