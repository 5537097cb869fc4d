// SPDX-License-Identifier: Apache-2.0
// shufflectl token: saves the live epoch with a checkpoint, and restores it.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_TOKEN_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_TOKEN_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeTokenCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_TOKEN_COMMAND_H_
