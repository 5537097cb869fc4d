// SPDX-License-Identifier: Apache-2.0
// shufflectl index SOURCE [MOUNTPOINT]: finds the records of container files
// before a mount, and saves where they are.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeIndexCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_COMMAND_H_
