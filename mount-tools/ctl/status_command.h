// SPDX-License-Identifier: Apache-2.0
// shufflectl status: what a mount is doing.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeStatusCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_COMMAND_H_
