// SPDX-License-Identifier: Apache-2.0
// The report of `shufflectl doctor`. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_DOCTOR_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_DOCTOR_TEXT_H_

#include <string>
#include <vector>

#include "mount-tools/ctl/doctor/mount_evidence.h"
#include "mount-tools/ctl/doctor/system_facts.h"

namespace shufflefs {

struct DoctorReport {
  SystemFacts system;
  std::vector<MountEvidence> mounts;  // by mount point
  std::string log;                    // the last lines, "" = not found
};

// Without `names` no path and no text that may hold a name of the dataset.
std::string DoctorText(const DoctorReport& report, bool names);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_DOCTOR_TEXT_H_
