// SPDX-License-Identifier: Apache-2.0
// The identity of the daemon, as far as the source's permission bits are
// concerned.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CREDENTIALS_H_
#define SHUFFLEFS_CORE_CATALOGUE_CREDENTIALS_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  // CAP_DAC_OVERRIDE or CAP_DAC_READ_SEARCH: permission bits do not apply.
  bool reads_all = false;

  static Credentials OfProcess();

  // By the permission bits only. An access control list may decide otherwise;
  // only opening the file gives the final answer.
  bool MayRead(const FileAttributes& file) const;
};

// The ids under which all owners appear that have no id of their own: in a user
// namespace, those that it does not map. Empty if every owner has an id.
struct OverflowIds {
  absl::optional<uid_t> uid;
  absl::optional<gid_t> gid;

  // These read /proc. Those of the process's user namespace:
  static OverflowIds OfProcess();
  // Those of a mount that maps ids by itself, and not all, for all it says.
  static OverflowIds OfIdmapped();

  // Nothing if the owner has no id of its own. It may be any user who has none.
  absl::optional<uid_t> UserOf(uid_t owner) const;
  // The part of `mode` that gives nobody too much, whoever these owners are. An
  // owner or a group without an id cannot be told from other users.
  mode_t Limit(mode_t mode, uid_t owner, gid_t group) const;
};

// The id, which `id` is the text of, if `map` does not map all ids. The texts
// are those of /proc: uid_map and overflowuid, or those of groups.
absl::optional<uint32_t> OverflowIdIn(absl::string_view map,
                                      absl::string_view id);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CREDENTIALS_H_
