// SPDX-License-Identifier: Apache-2.0
// The log of a mount: where its keys `log.*`, the command line and systemd send
// it.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_LOG_SETUP_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_LOG_SETUP_H_

#include "core/base/log.h"
#include "core/config/config.h"
#include "mount-tools/daemon/daemon.h"

namespace shufflefs {

// While the command has its terminal: until the mount serves or, in the
// foreground, to the end. Reads the environment and asks what stderr is.
LogOptions TerminalLog(const MountConfig& config, const RunOptions& options);

// Of a daemon that has left its terminal.
LogOptions DaemonLog(const MountConfig& config);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_LOG_SETUP_H_
