// SPDX-License-Identifier: Apache-2.0
// Path arithmetic on names only. But for WorkingDirectory, nothing here asks
// the file system, so a dead mount in the path does no harm.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_PATHS_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_PATHS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// The absolute form of `path`, below `base` if it is relative, without `.`,
// `..` and doubled slashes. `..` removes the name before it, even if that is a
// link. REQUIRES: base is absolute.
std::string AbsolutePath(absl::string_view path, absl::string_view base);

// InvalidArgument for "~" and "~/x". No shell replaces these in
// `-o policy=lirs,state=~/x`, and nobody does in a file.
absl::Status RefuseHome(absl::string_view path);

// The command line's words for CLI11, which takes `[x]` for a list and not for
// a path. Such a word becomes `./[x]`, unless it is the value of an option that
// takes no path.
std::vector<std::string> WithoutLists(std::vector<std::string> words);

// The part of `path` before its last slash. "." if there is none.
std::string DirName(absl::string_view path);

// The working directory. If it was deleted, a path below which there is
// nothing: absolute paths do not need it. Errors: errno of getcwd.
absl::StatusOr<std::string> WorkingDirectory();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_PATHS_H_
