// SPDX-License-Identifier: Apache-2.0
// shufflectl simulate: computes how well a policy would mix, without mounting.
// Also the models that policies have of their own (core/policy/policy_model.h).
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATE_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATE_COMMAND_H_

#include <memory>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeSimulateCommand();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATE_COMMAND_H_
