// SPDX-License-Identifier: Apache-2.0
// `shufflectl warmup` reads a dataset, or as much of it as fits, into the page
// cache.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARMUP_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARMUP_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeWarmupCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARMUP_COMMAND_H_
