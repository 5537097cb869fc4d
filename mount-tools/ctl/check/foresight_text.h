// SPDX-License-Identifier: Apache-2.0
// What a view's status says of clairvoyance, for a terminal.
//
// A pure function; any thread may call.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_FORESIGHT_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_FORESIGHT_TEXT_H_

#include <string>
#include <vector>

#include "mount-tools/ctl/status_fields.h"

namespace shufflefs {

// A line for each job whose opens are foreseen, the shares of all of them on
// the only one or on a line of their own; none without.
std::vector<std::string> ForesightLines(const status_fields::Json& view);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_FORESIGHT_TEXT_H_
