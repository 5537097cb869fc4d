// SPDX-License-Identifier: Apache-2.0
// shufflectl bench: the user's data, raw and through mounts.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_BENCH_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_BENCH_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeBenchCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_BENCH_COMMAND_H_
