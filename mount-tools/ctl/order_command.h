// SPDX-License-Identifier: Apache-2.0
// shufflectl order: the order of the live epoch.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_ORDER_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_ORDER_COMMAND_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeOrderCommand();

// Prints `order`, the content of .shufflefs/order, as one JSON object per line:
// {"rank":0,"name":"a/1.png","sample":"a/7.png"}. Replaces \t, \n and \\ in
// paths by the characters they denote, and bytes that are not UTF-8 by U+FFFD.
// DataLoss names a line that is not rank TAB name TAB sample.
absl::Status PrintOrderJson(absl::string_view order, std::ostream& out);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_ORDER_COMMAND_H_
