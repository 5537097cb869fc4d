// SPDX-License-Identifier: Apache-2.0
// Access control lists of the source. A mount shows only owner, group and mode,
// and the kernel decides by these. So if a list denies a user something, the
// shown mode must deny it to that user's whole class.
#ifndef SHUFFLEFS_CORE_SOURCE_POSIX_ACL_H_
#define SHUFFLEFS_CORE_SOURCE_POSIX_ACL_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/catalogue/credentials.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// The largest mode within `mode` that gives nobody more than `acl` does. `acl`
// is the value of system.posix_acl_access. In the mode of a file with a list,
// the group bits are the list's mask; in the result they are the owning group's
// own rights. Named users and groups can only lose rights. They belong to the
// owning group or to the others, so these classes get no more than each of
// them. If `acl` is no list, only the owner's bits remain.
// Without `owner`, which has no id, an entry that seems to name it names
// somebody else.
mode_t ModeWithinAcl(mode_t mode, absl::optional<uid_t> owner,
                     absl::string_view acl);

// The same, for an existing file. May block on the source. Does not ask if
// there is nothing to lose. Errors: those of fgetxattr.
absl::StatusOr<mode_t> ModeWithinAclOf(int fd, mode_t mode, uid_t owner);

// The same in steps, for callers that must not wait for fgetxattr:
//   if (AclMayLimit(mode)) result = fgetxattr(fd, kAclXattr, acl.data(), …)
// with an `acl` of kAclBytes. ModeWithinAnswer takes the result, or -errno.
// Empty: the list is longer. `acl` is larger now; ask again.
inline constexpr char kAclXattr[] = "system.posix_acl_access";
inline constexpr size_t kAclBytes = 256;
bool AclMayLimit(mode_t mode);
absl::optional<absl::StatusOr<mode_t>> ModeWithinAnswer(
    mode_t mode, absl::optional<uid_t> owner, int64_t result, std::string& acl);

// The same of a file that is as `found` reports, and limited to what is right
// for owners without an id (OverflowIds::Limit).
mode_t ShownModeOf(int fd, const struct stat& found, const OverflowIds& ids);
mode_t ShownModeAt(int dir, const char* name, const struct stat& found,
                   const OverflowIds& ids);

struct RightsNow {
  struct stat source;  // as stat reports
  mode_t mode = 0;     // as ShownModeOf
  // Why the list could not be read. `mode` then has the owner's bits only.
  absl::Status list;
};
struct RightsQuestion {
  bool list = false;  // the list of access, too
  // A server is asked, although the kernel may have an answer that it trusts
  // for a minute.
  bool server = false;
};
// The rights of a path of the source. Errors: those of the source.
absl::StatusOr<RightsNow> ReadRights(const SourceDir& source,
                                     absl::string_view path,
                                     const RightsQuestion& asked);
// The same, of what `held` is, an O_PATH descriptor of something in the source.
absl::StatusOr<RightsNow> ReadRights(const SourceDir& source,
                                     const UniqueFd& held,
                                     const RightsQuestion& asked);

// What everybody on this machine may read. Commands that copy a source ask this
// before they let others read the copy.
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

#endif  // SHUFFLEFS_CORE_SOURCE_POSIX_ACL_H_
