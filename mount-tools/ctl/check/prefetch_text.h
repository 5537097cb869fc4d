// SPDX-License-Identifier: Apache-2.0
// The part of a view's status about predicted reads, for a terminal.
//
// A pure function; any thread may call.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_PREFETCH_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_PREFETCH_TEXT_H_

#include <string>
#include <vector>

#include "mount-tools/ctl/status_fields.h"

namespace shufflefs {

// One line for each job whose opens are predicted. The shares of all jobs are
// on the line of the only one, or on a separate line. Empty if there are none.
std::vector<std::string> PrefetchLines(const status_fields::Json& view);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_PREFETCH_TEXT_H_
