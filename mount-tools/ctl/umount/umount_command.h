// SPDX-License-Identifier: Apache-2.0
// shufflectl umount: ends a mount, even if its daemon is gone.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_UMOUNT_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_UMOUNT_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeUmountCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_UMOUNT_COMMAND_H_
