// SPDX-License-Identifier: Apache-2.0
// Joins catalogue, views, policies and the FUSE session, and serves a mount.
// Only here do all libraries meet.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_DAEMON_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_DAEMON_H_

#include "core/config/config.h"

namespace shufflefs {

struct RunOptions {
  bool foreground = false;  // -f: stay in the foreground, and log to stderr
  bool debug = false;       // -d: log every request
  bool no_exec = false;  // -o noexec: the kernel runs no program of the mount
};

// Mounts `config` and serves it until it is unmounted or a signal ends it.
// Without `foreground` the caller's process becomes a daemon, and its parent
// exits 0 as soon as the mount serves. Returns the exit status: 0, or 1 after
// one line `shufflefs: …` to stderr. Call it from the main thread, before any
// other thread starts.
int RunMount(const MountConfig& config, const RunOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_DAEMON_H_
