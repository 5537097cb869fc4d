// SPDX-License-Identifier: Apache-2.0
// The kernel's table of mounts, and the mount that contains a path. Asks no
// daemon about a mount point itself, so a dead mount does no harm. A path below
// one is looked up, which may wait for the daemon.
#ifndef SHUFFLEFS_CORE_BASE_FILES_MOUNT_TABLE_H_
#define SHUFFLEFS_CORE_BASE_FILES_MOUNT_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

struct MountEntry {
  int id = 0;
  int parent_id = 0;
  std::string device;      // MAJOR:MINOR
  std::string mountpoint;  // absolute, as the caller's root sees it
  std::string flags;       // of the mount: "rw,nosuid,…"
  std::string type;        // "fuse.shufflefs", "ext4", …
  std::string source;
  std::string options;  // of the file system: "lowerdir=/a:/b,…"

  bool is_shufflefs() const { return type == "fuse.shufflefs"; }
};

// The lines of a mountinfo file (proc(5)). Malformed lines are left out. In
// mount order: of two mounts at one mount point, the later one is visible.
std::vector<MountEntry> ParseMountInfo(absl::string_view text);

// The table of this process. Errors: the errno of reading it.
absl::StatusOr<std::vector<MountEntry>> ReadMountInfo();

// The mount that contains `path` (absolute), according to the kernel. If the
// path cannot be reached, according to the names of mount points. Empty only if
// `mounts` lacks it.
absl::optional<MountEntry> MountAt(const std::string& path,
                                   const std::vector<MountEntry>& mounts);

// The id of the mount that an open file is in, from its file in /proc/<pid>/
// fdinfo. Empty if that cannot be read.
absl::optional<int> MountIdIn(const std::string& fdinfo);

// Returns whether `path` is `directory` or is below it, by their names.
bool LiesBelow(absl::string_view path, absl::string_view directory);

// What no other boot of any machine has: the numbers of mounts and devices
// begin anew at each. "" if the kernel does not tell.
std::string BootId();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_MOUNT_TABLE_H_
