// SPDX-License-Identifier: Apache-2.0
// A lock that the objects of one process share and that keeps other processes
// out. Neither kind of lock that the kernel has is that: flock and open file
// description locks keep out everybody who opened the file for himself, and
// those of a process are lost when any descriptor of the file is closed. So
// all hold a shared flock, and the file says whose they are: the first, who
// gets an exclusive one, writes that before he shares it.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_LOCK_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Names this process, among all of this machine since it was started.
std::string ProcessIdentity();

// Locks `name` in `dir`, which it makes. May wait for some 100 ms. The lock is
// held until the descriptor is closed; where a file system has no locks there
// is none. Errors, which name `path`: FailedPrecondition where another process
// holds it; what open, read and write give.
absl::StatusOr<UniqueFd> LockForProcess(int dir, const std::string& name,
                                        const std::string& path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_LOCK_H_
