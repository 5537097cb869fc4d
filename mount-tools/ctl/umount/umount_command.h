// SPDX-License-Identifier: Apache-2.0
// shufflectl umount: ends a mount, even if its daemon is gone.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_UMOUNT_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_UMOUNT_COMMAND_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/mount_table.h"
#include "mount-tools/ctl/command.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {

// ChooseMount. If nothing is mounted, the error does not say how to mount.
absl::StatusOr<MountEntry> MountToEnd(const MountChoice& choice,
                                      absl::string_view cwd,
                                      const std::vector<MountEntry>& mounts);

std::unique_ptr<Command> MakeUmountCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_UMOUNT_COMMAND_H_
