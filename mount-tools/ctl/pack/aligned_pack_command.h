// SPDX-License-Identifier: Apache-2.0
// shufflectl pack --align page SOURCE DEST: copies TFRecord files so that no
// record crosses a page boundary.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_ALIGNED_PACK_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_ALIGNED_PACK_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "mount-tools/ctl/command.h"

namespace shufflefs {

struct AlignedPackArguments {  // as the user wrote them
  std::string source;
  std::string destination;
  std::string fit = "next";
  std::string page = "4KiB";
  bool restart = false;
  bool json = false;
};

absl::Status RunAlignedPack(const AlignedPackArguments& arguments,
                            const CommandContext& context);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_ALIGNED_PACK_COMMAND_H_
