// SPDX-License-Identifier: Apache-2.0
// A mount for as long as a command of shufflectl needs it, in a private
// directory.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_TEMPORARY_MOUNT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_TEMPORARY_MOUNT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mount-tools/ctl/command.h"
#include "mount-tools/ctl/run/passed_signals.h"
#include "mount-tools/ctl/run/private_dir.h"

namespace shufflefs {

// What a user of shufflectl gives for it.
struct MountRequest {
  std::string source;                // relative to context.cwd
  std::vector<std::string> options;  // -o; the last wins
  std::string config;                // --config, "" = none
};

// Used by one thread. Call End in any case.
class TemporaryMount {
 public:
  // Makes the directory. Errors: those of PrivateDir::Make.
  static absl::StatusOr<TemporaryMount> Make();

  std::string mountpoint() const { return dir_.mountpoint(); }

  // Starts shufflefs, whose messages go to stderr, and returns when the mount
  // serves. Unless the request names a state, it is in the same directory.
  // Errors: InvalidArgument for wrong keys; Unavailable if shufflefs refused;
  // Cancelled if a signal came, which `came` then holds.
  absl::Status Start(const MountRequest& request, const PassedSignals& signals,
                     const CommandContext& context, int& came) const;

  // Unmounts and removes the directory. If a process uses the mount for longer
  // than 5 s, says so and detaches it. The working directory is context.cwd
  // then. Errors: what stays behind.
  absl::Status End(const CommandContext& context) const;

 private:
  explicit TemporaryMount(PrivateDir dir) : dir_(std::move(dir)) {}

  PrivateDir dir_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_TEMPORARY_MOUNT_H_
