// SPDX-License-Identifier: Apache-2.0
// absl::Status with the causing errno as a payload, so that EACCES, EPERM and
// ESTALE survive until fs/errno_map answers the kernel.
#ifndef SHUFFLEFS_CORE_BASE_STATUS_H_
#define SHUFFLEFS_CORE_BASE_STATUS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

// A status for errno `error` (> 0). `what` names the file, offset or key. The
// text of the errno is appended.
absl::Status ErrnoStatus(int error, absl::string_view what);

// The errno that `status` carries, or nothing.
absl::optional<int> ErrnoOf(const absl::Status& status);

// The same status with "`where`: " before its message. Keeps the errno.
absl::Status Annotate(const absl::Status& status, absl::string_view where);

// The same error with "; `next`" after its message: what a user can do. Keeps
// the errno.
absl::Status WithNext(const absl::Status& status, absl::string_view next);

// The same error with a next step for its errno, such as "free space" for
// ENOSPC. Unchanged if it carries no errno, or a step of WithNext already.
absl::Status WithNextOfErrno(const absl::Status& status);

}  // namespace shufflefs

#define RETURN_IF_ERROR(expr)                                         \
  do {                                                                \
    if (absl::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)

#define SHUFFLEFS_CONCAT_(a, b) a##b
#define SHUFFLEFS_CONCAT(a, b) SHUFFLEFS_CONCAT_(a, b)
#define SHUFFLEFS_ASSIGN_(tmp, lhs, expr)        \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)
#define ASSIGN_OR_RETURN(lhs, expr) \
  SHUFFLEFS_ASSIGN_(SHUFFLEFS_CONCAT(status_or_, __LINE__), lhs, expr)

#endif  // SHUFFLEFS_CORE_BASE_STATUS_H_
