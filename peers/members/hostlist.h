// SPDX-License-Identifier: Apache-2.0
// Lists of hosts in the short form of Slurm.
#ifndef SHUFFLEFS_PEERS_MEMBERS_HOSTLIST_H_
#define SHUFFLEFS_PEERS_MEMBERS_HOSTLIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs::peers {

// The hosts of a list such as `node[01-03,7],login1` or `r[1-2]n[1-4]`, in its
// order. InvalidArgument quotes what is wrong: a bracket without its partner, a
// range that is none, or more than 65,536 hosts.
absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view list);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_MEMBERS_HOSTLIST_H_
