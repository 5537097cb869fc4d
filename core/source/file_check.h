// SPDX-License-Identifier: Apache-2.0
// What decides whether a file of the source is still the one that the
// catalogue knows, and how an errno of it is told: in one place, so that every
// way of reading says the same of the same file. No text names the path; the
// caller annotates.
#ifndef SHUFFLEFS_CORE_SOURCE_FILE_CHECK_H_
#define SHUFFLEFS_CORE_SOURCE_FILE_CHECK_H_

#include <sys/stat.h>

#include <cstdint>

#include "absl/status/status.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

// What statx is asked for.
inline constexpr unsigned kLookMask = STATX_TYPE | STATX_MODE | STATX_NLINK |
                                      STATX_UID | STATX_GID | STATX_INO |
                                      STATX_SIZE | STATX_MTIME | STATX_CTIME;

// ESTALE when the file is not a regular one, has another identity, or no name
// any more; EACCES when a read permission that it had was taken away or its
// owner changed. Permission bits are compared, not tried: a daemon that runs as
// root would be let in. Where others are served its access control list counts,
// too, which is read from `fd`, the open file; else that is not looked at. May
// block for the source.
//
// A ctime alone that differs is an error, too: somebody may have written the
// file and set its time back. Unless its mode or its number of links tells why.
absl::Status CheckUnchanged(int fd, const struct statx& now,
                            const FileAttributes& known);
// The same, by a statx of its own.
absl::Status CheckUnchanged(int fd, const FileAttributes& known);

// The status of an open that failed with `error`. The catalogue knows the
// name, so "no such file", a link in the way or a socket mean "not any more":
// ESTALE.
absl::Status OpenFailure(int error);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_FILE_CHECK_H_
