// SPDX-License-Identifier: Apache-2.0
// Reads from the page cache what is in it, and only that.
#ifndef SHUFFLEFS_CORE_SOURCE_CACHED_READ_H_
#define SHUFFLEFS_CORE_SOURCE_CACHED_READ_H_

#include <sys/uio.h>

#include <cstdint>
#include <vector>

namespace shufflefs {

// What to do on a kernel before Linux 6.5, which cannot tell what it caches: to
// try has it fetch what is missing, for who reads by the page cache next.
enum class IfUnknown { kLeave, kTry };

// Fills `into` with `length` bytes of the file from `offset` if the page cache
// holds them all: true. Else, and where that is unknown and left, false; then
// `into` may be overwritten in part. Waits for no device. `fd` was opened to
// read, without O_DIRECT. REQUIRES: `into` has room.
bool ReadIfCached(int fd, const std::vector<iovec>& into, uint64_t offset,
                  uint64_t length, IfUnknown if_unknown = IfUnknown::kLeave);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_CACHED_READ_H_
