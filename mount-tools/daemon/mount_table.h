// SPDX-License-Identifier: Apache-2.0
// The kernel's table of mounts, and which mount a path lies in. Asks no daemon
// about a mountpoint itself, so that a dead mount does no harm; a path below
// one is looked up, which may wait for the daemon.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNT_TABLE_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNT_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

struct MountEntry {
  int id = 0;
  int parent_id = 0;
  std::string mountpoint;  // absolute, as the caller's root sees it
  std::string type;        // "fuse.shufflefs", "ext4", …
  std::string source;
  std::string options;  // of the file system: "lowerdir=/a:/b,…"

  bool is_shufflefs() const { return type == "fuse.shufflefs"; }
};

// The lines of a mountinfo file (proc(5)); lines of another form are left
// out. In mount order: where two lie on one mountpoint the later one is seen.
std::vector<MountEntry> ParseMountInfo(absl::string_view text);

// That of this process. Errors: the errno of reading it.
absl::StatusOr<std::vector<MountEntry>> ReadMountInfo();

// The mount that `path` (absolute) lies in, by the kernel's own word; where
// the path cannot be reached, by the names of mountpoints. Nothing only if
// `mounts` lacks it.
absl::optional<MountEntry> MountAt(const std::string& path,
                                   const std::vector<MountEntry>& mounts);

// Whether `path` is `directory` or lies below it, by their names.
bool LiesBelow(absl::string_view path, absl::string_view directory);

// Whether the daemon of the mount is gone. Waits for a daemon that does not
// answer as AskMount does, and says no.
bool IsDeadMount(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNT_TABLE_H_
