// SPDX-License-Identifier: Apache-2.0
// FindTierCapacity turns a percentage in tier.capacity into bytes.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_TIER_CAPACITY_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_TIER_CAPACITY_H_

#include "absl/status/status.h"
#include "core/config/config.h"

namespace shufflefs {

// Sets tier_capacity if tier_percent is set. Asks the file system of tier_path.
// All of it counts, not what is free, so that every mount finds the same size.
// Errors: InvalidArgument naming the key.
absl::Status FindTierCapacity(MountConfig& config);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_TIER_CAPACITY_H_
