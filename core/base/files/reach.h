// SPDX-License-Identifier: Apache-2.0
// How a daemon opens a path of its user below its own mount point. By the path
// itself it would ask the mount, and wait for its own answer for ever.
#ifndef SHUFFLEFS_CORE_BASE_FILES_REACH_H_
#define SHUFFLEFS_CORE_BASE_FILES_REACH_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace shufflefs {

// Returns the path by which `path` can be opened. Ask again for each open,
// because links may change. Any thread may call. Blocks as open does.
using PathReach = std::function<std::string(const std::string& path)>;

// `reach` may be empty: nothing is mounted.
inline std::string Reached(const PathReach& reach, const std::string& path) {
  return reach ? reach(path) : path;
}

// Holds the directory `mountpoint` (absolute) while the result exists. So paths
// that lead through it reach what is in it now, whatever is mounted there
// later. All other paths stay as they are. A path that leads through it by too
// many links becomes one where nothing is (ENOTDIR). Errors: the errno.
absl::StatusOr<PathReach> ReachBelow(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_REACH_H_
