// SPDX-License-Identifier: Apache-2.0
// What a bug report needs of one mount.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_MOUNT_EVIDENCE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_MOUNT_EVIDENCE_H_

#include <string>
#include <vector>

#include "mount-tools/ctl/list/mount_facts.h"

namespace shufflefs {

struct MountEvidence {
  MountFacts facts;
  std::vector<std::string> controls;  // the control file of each view
  std::string error;                  // the last refusal of the control file
  std::string device;                 // file system and disk of the source
};

// Blocks for a few seconds at most, also if the daemon or the source hangs.
MountEvidence FindEvidence(const MountEntry& mount,
                           const std::vector<MountEntry>& mounts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_MOUNT_EVIDENCE_H_
