// SPDX-License-Identifier: Apache-2.0
// What `shufflectl verify` prints. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "core/verify/verify.h"

namespace shufflefs {

struct VerifyResult {
  LedgerProof proof;
  // By view path: whether the mount shows the running epoch as the ledger has
  // it. Views that were not compared are absent.
  std::map<std::string, absl::Status> live;

  bool broken() const;
};

// A line for each epoch and one for the verdict, then of each view how the
// last epoch that was measured was mixed.
std::string ProofText(const VerifyResult& result);
// One JSON object:
// {"proven":…,"ledger":…,"epochs":[…],"epoch_memory":{…}}.
std::string ProofJson(const VerifyResult& result);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_
