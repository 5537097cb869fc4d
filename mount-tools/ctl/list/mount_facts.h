// SPDX-License-Identifier: Apache-2.0
// What can be known of a mount without waiting for it.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_MOUNT_FACTS_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_MOUNT_FACTS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "core/base/files/mount_table.h"
#include "fs/fuse/mount_point.h"

namespace shufflefs {

struct MountFacts {
  std::string mountpoint;
  std::string source;
  MountState state = MountState::kAnswers;
  std::string status;             // its JSON; "" if it cannot be read
  pid_t pid = 0;                  // of the daemon; 0 = not known
  absl::optional<int64_t> since;  // its start, in seconds since 1970
};

// Blocks for at most a few seconds, also if the daemon hangs. `view` is the one
// whose status is read; "" = the whole mount.
MountFacts AskFacts(const MountEntry& mount, const std::string& view);
// Sets `pid` and `since`, if they can be known. Blocks likewise.
void FindDaemon(MountFacts& facts);

// Why there is no status, and what to do, for a line that names the mount.
std::string WhyNoStatus(const MountFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_MOUNT_FACTS_H_
