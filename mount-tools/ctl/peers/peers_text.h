// SPDX-License-Identifier: Apache-2.0
// What shufflectl says about the peers of a mount.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PEERS_PEERS_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PEERS_PEERS_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mount-tools/ctl/status_fields.h"

namespace shufflefs {

// One line for `shufflectl status`, with line end. "" without peers.
std::string PeersLine(const status_fields::Json& status);

// A line for each member, and the line above. `json` is the status of a mount.
// NotFound if the mount has no peers.
absl::StatusOr<std::string> PeersTable(absl::string_view json);

// The object `peers` of the status, as one line. NotFound as above.
absl::StatusOr<std::string> PeersJsonLine(absl::string_view json);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PEERS_PEERS_TEXT_H_
