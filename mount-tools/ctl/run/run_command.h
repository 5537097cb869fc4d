// SPDX-License-Identifier: Apache-2.0
// shufflectl run: mounts, runs a program, unmounts.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_RUN_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_RUN_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeRunCommand();

// `words` with `mountpoint` in the place of each `mark`. If `mark` is "", the
// same words.
std::vector<std::string> WithMountpoint(std::vector<std::string> words,
                                        const std::string& mark,
                                        const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_RUN_COMMAND_H_
