// SPDX-License-Identifier: Apache-2.0
#include "fs/model/errno_map.h"

#include <cerrno>

#include "core/base/status.h"

namespace shufflefs {

int ErrnoFor(const absl::Status& status) {
  if (const absl::optional<int> error = ErrnoOf(status)) return *error;
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return ENOENT;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return EINVAL;
    case absl::StatusCode::kPermissionDenied:
      return EACCES;
    case absl::StatusCode::kAborted:
      return ESTALE;
    case absl::StatusCode::kResourceExhausted:
      return ENOMEM;
    case absl::StatusCode::kUnimplemented:
      return ENOSYS;
    default:
      return EIO;
  }
}

bool IsQuiet(int error) {
  switch (error) {
    case ENOENT:
    case ENODATA:
    case EROFS:
    case EINVAL:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ERANGE:
    case ENOSYS:
      return true;
    default:
      return false;
  }
}

}  // namespace shufflefs
