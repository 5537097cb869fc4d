// SPDX-License-Identifier: Apache-2.0
// Access control lists of the source. A mount shows owner, group and mode
// alone, and the kernel decides by these; so what a list takes from somebody
// the mode that is shown must take from all of that somebody's class.
#ifndef SHUFFLEFS_CORE_SOURCE_POSIX_ACL_H_
#define SHUFFLEFS_CORE_SOURCE_POSIX_ACL_H_

#include <sys/stat.h>
#include <sys/types.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// The largest mode within `mode` that gives nobody more than `acl` does, the
// value of system.posix_acl_access. The mode of a file with a list has the
// list's mask for group bits; here they are the owning group's own rights.
// Users and groups that are named can only lose: they are of the owning group
// or of the others, and so these get no more than each of them. What is no
// list leaves the owner's bits.
mode_t ModeWithinAcl(mode_t mode, uid_t owner, absl::string_view acl);

// The same of what is there; owner's bits only where the list cannot be read.
// All may block for the source, and none asks where there is nothing to lose.
mode_t ModeWithinAclOf(int fd, mode_t mode, uid_t owner);
mode_t ModeWithinAclAt(int dir, const char* name, mode_t mode, uid_t owner);

struct RightsNow {
  struct stat source;  // as stat says
  mode_t mode = 0;     // within the list
};
// Of a path of the source, by stat and, where `reads_list`, its list. Errors:
// those of the source.
absl::StatusOr<RightsNow> ReadRights(const SourceDir& source,
                                     absl::string_view path, bool reads_list);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_POSIX_ACL_H_
