// SPDX-License-Identifier: Apache-2.0
// shufflectl verify: proves from the ledger that every sample was shown once.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_VERIFY_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_VERIFY_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeVerifyCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_VERIFY_COMMAND_H_
