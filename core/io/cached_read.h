// SPDX-License-Identifier: Apache-2.0
// Reads from the page cache what is in it, and only that.
#ifndef SHUFFLEFS_CORE_IO_CACHED_READ_H_
#define SHUFFLEFS_CORE_IO_CACHED_READ_H_

#include <sys/uio.h>

#include <cstdint>
#include <vector>

namespace shufflefs {

// Fills `into` with `length` bytes of the file from `offset` if the page cache
// holds them all: true. Else, and always on a kernel before Linux 6.5, which
// cannot tell, false; then `into` may be overwritten in part. Waits for no
// device. `fd` was opened to read, without O_DIRECT. REQUIRES: `into` has room.
bool ReadIfCached(int fd, const std::vector<iovec>& into, uint64_t offset,
                  uint64_t length);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_CACHED_READ_H_
