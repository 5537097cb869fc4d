// SPDX-License-Identifier: Apache-2.0
// Opens the files of a mount's control directory. Whoever mounted it decides
// what is there, and may be somebody else than the user of shufflectl. So no
// link, pipe, device or other mount there leads anywhere.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CONTROL_FILE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CONTROL_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Opens the regular file `name`, a path below `mountpoint`. `flags` are
// O_RDONLY or O_WRONLY. Blocks as long as the daemon does. Errors, which name
// the path: the errno; ELOOP or EXDEV if a link or another mount is in the way;
// FailedPrecondition if it is no regular file.
absl::StatusOr<UniqueFd> OpenControlFile(const std::string& mountpoint,
                                         const std::string& name, int flags);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CONTROL_FILE_H_
