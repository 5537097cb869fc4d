// SPDX-License-Identifier: Apache-2.0
// What may wait for a mount that nobody answers is done in a process of its
// own: it can be left behind, where a thread could not.
#ifndef SHUFFLEFS_FS_FUSE_RUN_APART_H_
#define SHUFFLEFS_FS_FUSE_RUN_APART_H_

#include <chrono>
#include <functional>
#include <string>

#include "absl/types/optional.h"

namespace shufflefs {

// What `work` returned in a process of its own; nothing if it did not within
// `wait`. `work` must need no other thread and no lock.
absl::optional<std::string> RunApart(const std::function<std::string()>& work,
                                     std::chrono::milliseconds wait);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_RUN_APART_H_
