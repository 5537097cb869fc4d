// SPDX-License-Identifier: Apache-2.0
// shufflectl top, and status --watch: what mounts do, again and again.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_WATCH_WATCH_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_WATCH_WATCH_COMMAND_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "mount-tools/ctl/command.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {

std::unique_ptr<Command> MakeTopCommand();

struct WatchOptions {
  MountChoice choice;  // all mounts if there are several and none is chosen
  std::string interval = "2s";
  uint64_t count = 0;  // how often; 0 = until interrupted
};

// Adds --interval and --count.
void DeclareWatch(CLI::App& app, WatchOptions& options);

// Prints one table per interval: on a terminal in place of the last one, else
// as further lines. Ends when SIGINT or SIGTERM comes, or the mounts are gone.
// Errors: InvalidArgument for a bad interval; those of ChooseMounts.
absl::Status Watch(const WatchOptions& options, const CommandContext& context);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_WATCH_WATCH_COMMAND_H_
