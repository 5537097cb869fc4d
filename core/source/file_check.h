// SPDX-License-Identifier: Apache-2.0
// Decides whether a file of the source is still the one that the catalogue
// knows, and which errno to report. All ways of reading use it, so all report
// the same for the same file. The texts do not name the path; the caller
// annotates them.
#ifndef SHUFFLEFS_CORE_SOURCE_FILE_CHECK_H_
#define SHUFFLEFS_CORE_SOURCE_FILE_CHECK_H_

#include <sys/stat.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

// The fields to request from statx.
inline constexpr unsigned kLookMask = STATX_TYPE | STATX_MODE | STATX_NLINK |
                                      STATX_UID | STATX_GID | STATX_INO |
                                      STATX_SIZE | STATX_MTIME | STATX_CTIME;

// Returns ESTALE if the file is not regular, has another identity, or has no
// name any more. Returns EACCES if it lost a read permission or its owner
// changed. Permission bits are compared, not tried, because a daemon that runs
// as root may read everything. If other users are served, the access control
// list counts too. It is read from `fd`, the open file. If that fails, returns
// its errno, because nothing is known to have changed. May block on the source.
//
// A ctime that differs alone is an error too, because somebody may have written
// the file and set its time back. The exception is a changed mode or number of
// links, which explains it.
absl::Status CheckUnchanged(int fd, const struct statx& now,
                            const FileAttributes& known);
// The same, with its own statx.
absl::Status CheckUnchanged(int fd, const FileAttributes& known);
// The same without a call. `within` is what ModeWithinAclOf says of the file
// now. It counts only if NeedsAcl.
absl::Status CheckUnchanged(const struct statx& now,
                            const FileAttributes& known,
                            const absl::StatusOr<mode_t>& within);
// Returns whether the file's access control list counts.
bool NeedsAcl(const struct statx& now, const FileAttributes& known);

// The status of an open that failed with `error`. The catalogue knows the name,
// so "no such file", a link in the way or a socket mean that the file is gone:
// ESTALE.
absl::Status OpenFailure(int error);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_FILE_CHECK_H_
