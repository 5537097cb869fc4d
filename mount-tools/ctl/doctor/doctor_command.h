// SPDX-License-Identifier: Apache-2.0
// shufflectl doctor: what a bug report needs.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_DOCTOR_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_DOCTOR_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeDoctorCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_DOCTOR_COMMAND_H_
