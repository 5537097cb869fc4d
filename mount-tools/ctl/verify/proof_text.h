// SPDX-License-Identifier: Apache-2.0
// The output of `shufflectl verify`. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "core/verify/verify.h"

namespace shufflefs {

struct VerifyResult {
  LedgerProof proof;
  // By view path: whether the mount shows the current epoch as the ledger has
  // it. Views that were not compared are absent.
  std::map<std::string, absl::Status> live;

  bool broken() const;
};

// One line for each epoch and one for the verdict. Then, for each view, the
// shuffle quality of the last measured epoch.
std::string ProofText(const VerifyResult& result);
// One JSON object:
// {"proven":…,"ledger":…,"epochs":[…],"epoch_memory":{…}}.
std::string ProofJson(const VerifyResult& result);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_
