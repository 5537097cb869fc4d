// SPDX-License-Identifier: Apache-2.0
// The one place where a Status becomes an errno for the kernel.
#ifndef SHUFFLEFS_FS_MODEL_ERRNO_MAP_H_
#define SHUFFLEFS_FS_MODEL_ERRNO_MAP_H_

#include "absl/status/status.h"

namespace shufflefs {

// The errno that answers a request which failed with `status` (not OK). The
// original errno if the status carries it.
int ErrnoFor(const absl::Status& status);

// Returns whether a failure is normal (a name that does not exist, a refused
// write) and so not worth a log line.
bool IsQuiet(int error);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_ERRNO_MAP_H_
