// SPDX-License-Identifier: Apache-2.0
// Completes the token of a mount from its ledger. Pure.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_WHOLE_TOKEN_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_WHOLE_TOKEN_H_

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/ledger/ledger_pass.h"
#include "core/view/epoch_token.h"

namespace shufflefs {

// `token`, whose line has no room for all that was read, with what `state` says
// of it. Empty if the ledger is in another epoch by now. Errors:
// FailedPrecondition if the ledger lacks something that was read: its disk is
// full, for example.
absl::StatusOr<absl::optional<EpochToken>> WholeToken(const EpochToken& token,
                                                      const LedgerState& state);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_WHOLE_TOKEN_H_
