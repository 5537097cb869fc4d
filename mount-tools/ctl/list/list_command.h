// SPDX-License-Identifier: Apache-2.0
// shufflectl list: the mounts of this machine.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_LIST_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_LIST_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeListCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_LIST_COMMAND_H_
