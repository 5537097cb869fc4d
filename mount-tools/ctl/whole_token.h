// SPDX-License-Identifier: Apache-2.0
// Completes the token of a mount from its ledger.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_WHOLE_TOKEN_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_WHOLE_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/ledger/ledger_pass.h"
#include "core/view/epoch_token.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {

// `token`, whose line has no room for all that was read, with what `state` says
// of it. Empty if the ledger is in another epoch by now. Pure. Errors:
// FailedPrecondition if the ledger lacks something that was read: its disk is
// full, for example.
absl::StatusOr<absl::optional<EpochToken>> WholeToken(const EpochToken& token,
                                                      const LedgerState& state);

// The text of the mount's token, with all that its line has no room for. Blocks
// as MountClient does, and reads the ledger. Where the ledger cannot be read,
// a planned epoch comes back with its position alone, as its line says. Errors:
// those of MountClient and, for `brand` and `met`, of WholeToken and of reading
// the ledger; Unavailable if the mount moves from epoch to epoch.
absl::StatusOr<std::string> ReadWholeToken(const MountClient& mount);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_WHOLE_TOKEN_H_
