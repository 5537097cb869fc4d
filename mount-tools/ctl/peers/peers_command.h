// SPDX-License-Identifier: Apache-2.0
// shufflectl peers: the other daemons of the job.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PEERS_PEERS_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PEERS_PEERS_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakePeersCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PEERS_PEERS_COMMAND_H_
