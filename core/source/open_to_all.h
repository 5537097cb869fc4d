// SPDX-License-Identifier: Apache-2.0
// What everybody on this machine may read. Commands that copy a source ask
// this before they let others read the copy.
#ifndef SHUFFLEFS_CORE_SOURCE_OPEN_TO_ALL_H_
#define SHUFFLEFS_CORE_SOURCE_OPEN_TO_ALL_H_

#include <sys/stat.h>

#include "core/catalogue/credentials.h"

namespace shufflefs {

inline constexpr mode_t kAllRead = S_IRGRP | S_IROTH;
inline constexpr mode_t kAllSearch = S_IXGRP | S_IXOTH;

// Whether `mode` has all of these bits.
constexpr bool HasBits(mode_t mode, mode_t bits) {
  return (mode & bits) == bits;
}

// Whether everybody may search a directory and all above it, lists of access
// included. Walks up by "..", because names may be links. May block on the
// source. False if it cannot be told.
bool AllMayReach(int dir, const OverflowIds& ids);

// Whether everybody may read a file: it and all directories above it allow it.
// `fd` is an open descriptor of the file, and `found` what fstat says of it.
// May block on the source. False if it cannot be told.
bool AllMayRead(int fd, const struct stat& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_OPEN_TO_ALL_H_
