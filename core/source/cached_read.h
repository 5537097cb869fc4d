// SPDX-License-Identifier: Apache-2.0
// Reads from the page cache what it holds, and nothing else.
#ifndef SHUFFLEFS_CORE_SOURCE_CACHED_READ_H_
#define SHUFFLEFS_CORE_SOURCE_CACHED_READ_H_

#include <sys/uio.h>

#include <cstdint>
#include <vector>

namespace shufflefs {

// The behaviour on kernels before Linux 6.5, which cannot say what they have
// cached. kTry reads anyway. The kernel then fetches what is missing, for the
// next reader that uses the page cache.
enum class IfUnknown { kLeave, kTry };

// Fills `into` with `length` bytes of the file from `offset` and returns true
// if the page cache holds them all. Otherwise returns false; `into` may be
// partly overwritten. Also returns false if the kernel cannot say and
// `if_unknown` is kLeave. Never waits for a device. `fd` was opened for
// reading, without O_DIRECT. REQUIRES: `into` has room for `length` bytes.
bool ReadIfCached(int fd, const std::vector<iovec>& into, uint64_t offset,
                  uint64_t length, IfUnknown if_unknown = IfUnknown::kLeave);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_CACHED_READ_H_
