// SPDX-License-Identifier: Apache-2.0
// The output of `shufflectl verify`. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/verify/joint_proof.h"
#include "core/verify/verify.h"

namespace shufflefs {

struct VerifyResult {
  LedgerProof proof;
  // By view path: whether the mount shows the current epoch as the ledger has
  // it. Views that were not compared are absent.
  std::map<std::string, absl::Status> live;
  // By view path: why that was not compared, though the epoch is proven.
  std::map<std::string, std::string> not_compared;
  // The ledgers of other nodes, by their paths, and what all of them say
  // together. There the mount's own ledger has number 0.
  struct Other {
    std::string path;
    LedgerProof proof;
  };
  std::vector<Other> others;
  std::vector<JointEpoch> joint;

  bool broken() const;
  // Returns whether nothing is broken, and the mount's ledger proves at least
  // one epoch. Epochs of another dataset or other keys prove nothing.
  bool proven() const;
};

// One line for each epoch and one for the verdict. For several nodes then one
// line for each epoch of all of them. Then, for each view, the shuffle quality
// of the last measured epoch.
std::string ProofText(const VerifyResult& result);
// One JSON object:
// {"proven":…,"ledger":…,"epochs":[…],"epoch_memory":{…}}. For several nodes
// also "others" and "joint".
std::string ProofJson(const VerifyResult& result);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_PROOF_TEXT_H_
