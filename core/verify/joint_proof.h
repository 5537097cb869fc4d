// SPDX-License-Identifier: Apache-2.0
// What the ledgers of all nodes of a job say together about the epochs that
// they have in common. Each node records only what was opened on it, so only
// together do they show whether each sample came once.
#ifndef SHUFFLEFS_CORE_VERIFY_JOINT_PROOF_H_
#define SHUFFLEFS_CORE_VERIFY_JOINT_PROOF_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/files/owned_dir.h"

namespace shufflefs {

// One epoch of a view on several nodes. Nodes are numbered like the ledgers.
struct JointEpoch {
  std::string view_path;
  uint64_t epoch = 0;
  uint64_t names = 0;
  bool running = false;        // on one node at least
  std::vector<size_t> nodes;   // whose names show the same samples
  std::vector<size_t> others;  // whose names show other samples
  // Those of `others` that bound their names anew for this epoch, as the rest
  // did, but in another way, and read some. The rest of them were left behind,
  // or showed the source's own samples: status on the nodes says so, and how
  // many samples that may have cost.
  std::vector<size_t> apart;
  // The rest counts what was consumed on `nodes`.
  uint64_t consumed = 0;  // different samples
  // Consumptions of a sample on one more node. A sampler that gives all ranks
  // equally many samples repeats some. Samples that are retained in the next
  // epoch are not counted: their second open belongs to that epoch.
  uint64_t again = 0;
  // Samples that were retained in this epoch and are only recorded in the one
  // before. They may have been opened for this one, before all nodes were in
  // it.
  uint64_t early = 0;
  // Its names show what they showed in the epoch before, or after it. Then an
  // open near the boundary may count for the wrong one.
  bool held = false;

  bool complete() const { return consumed + early == names; }
  // Returns whether each sample came at most once, on all nodes together. A
  // sampler that repeats samples breaks no promise. Nor does a job that reads
  // all of them on each node.
  bool once() const { return !held && others.empty() && again == 0; }
  // Returns whether it contradicts the promises.
  bool broken() const { return !running && !held && !apart.empty(); }
};

// Reads the ledgers. Returns each epoch that was recorded on two nodes or more,
// in the order of views and epochs. A node that has an epoch, but counted
// nothing in it, is one of these. Blocks while it reads. Errors: those of
// LedgerReader::Open and Run, which name the file.
absl::StatusOr<std::vector<JointEpoch>> JoinLedgers(
    absl::Span<const FilePlace> ledgers);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VERIFY_JOINT_PROOF_H_
