// SPDX-License-Identifier: Apache-2.0
// shufflectl pack SOURCE DEST: copies the samples of a dataset into chunk
// files, which brand.packed reads from end to end.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_PACK_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_PACK_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakePackCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_PACK_COMMAND_H_
