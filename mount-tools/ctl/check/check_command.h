// SPDX-License-Identifier: Apache-2.0
// shufflectl check: reports what shufflefs would do with a dataset.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeCheckCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_COMMAND_H_
