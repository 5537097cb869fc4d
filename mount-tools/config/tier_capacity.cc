// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/tier_capacity.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "mount-tools/config/option_values.h"

namespace shufflefs {

using option_values::kMinMemory;

absl::Status FindTierCapacity(MountConfig& config) {
  if (config.tier_percent == 0) return absl::OkStatus();
  if (config.tier_path.empty()) {
    return absl::InvalidArgumentError(
        "tier.capacity: a percentage needs tier.path, the tier's directory");
  }
  struct statvfs st;
  if (statvfs(config.tier_path.c_str(), &st) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tier.path: ", ErrnoStatus(errno, config.tier_path).message(),
        "; name a directory that exists, or make it: mkdir -p ",
        config.tier_path));
  }
  const uint64_t all = uint64_t{st.f_blocks} * st.f_frsize;
  config.tier_capacity = std::max(all / 100 * config.tier_percent, kMinMemory);
  return absl::OkStatus();
}

}  // namespace shufflefs
