// SPDX-License-Identifier: Apache-2.0
// Runs work that may wait for a dead mount in a separate process. The process
// can be left behind; a thread could not.
#ifndef SHUFFLEFS_FS_FUSE_RUN_APART_H_
#define SHUFFLEFS_FS_FUSE_RUN_APART_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/types/optional.h"

namespace shufflefs {

inline constexpr size_t kMostApart = size_t{64} << 20;

// The result of `work` in a separate process. Empty if it takes longer than
// `wait`, or has more than kMostApart bytes, as what the mount of another user
// says may have. `work` must need no other thread and no lock.
absl::optional<std::string> RunApart(const std::function<std::string()>& work,
                                     std::chrono::milliseconds wait);

// What other processes write into the pipe `from` until they have closed it.
// `take` sees it after each piece, and may shorten it. Empty if `take` returns
// false, or if it takes longer than until `until`.
absl::optional<std::string> HearAll(
    int from, std::chrono::steady_clock::time_point until,
    const std::function<bool(std::string& text)>& take);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_RUN_APART_H_
