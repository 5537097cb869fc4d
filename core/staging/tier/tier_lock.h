// SPDX-License-Identifier: Apache-2.0
// LockForProcess takes a lock that the objects of one process share and that
// keeps other processes out. Neither kind of kernel lock does that. flock and
// open file description locks keep out everybody else who opened the file, even
// in the same process. A process's own locks are lost when any descriptor of
// the file is closed. So all objects hold a shared flock, and the file names
// their process: the first object gets an exclusive lock, writes the name, and
// then shares the lock.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_LOCK_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Identifies this process among all processes of this machine since its start.
std::string ProcessIdentity();

// Locks `name` in `dir`, and creates it if needed. May wait for some 100 ms.
// The lock is held until the descriptor is closed. If a file system has no
// locks, this succeeds without one. Errors, which name `path`:
// FailedPrecondition if another process holds the lock; errors of open, read
// and write.
absl::StatusOr<UniqueFd> LockForProcess(int dir, const std::string& name,
                                        const std::string& path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_LOCK_H_
