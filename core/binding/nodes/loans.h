// SPDX-License-Identifier: Apache-2.0
// Loans remembers where this node looked for a free sample for its names, if
// all of its own are shown (PassedNames). For SharedNames.
#ifndef SHUFFLEFS_CORE_BINDING_NODES_LOANS_H_
#define SHUFFLEFS_CORE_BINDING_NODES_LOANS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/types.h"
#include "core/binding/nodes/silent_nodes.h"

namespace shufflefs {

// Not thread-safe. Nothing blocks.
class Loans {
 public:
  void BeginEpoch();
  // The member to ask next for the name: the one whose answer was lost, because
  // it may have lent a sample. Else each time another one that answers for
  // this epoch, if there is one. REQUIRES: there are two members.
  uint32_t NextLender(uint64_t name, const std::vector<std::string>& members,
                      uint32_t self, const SilentNodes& silent);
  // Returns whether all others were asked since this was true before.
  bool WasRound(size_t others) const { return asked_ % others == 0; }

  // No sample can be had for the name now, said a lender or the node that binds
  // the name. Returns whether to give up: it was so for `within`, or a name of
  // its group was given up. Then a node is gone that has one.
  bool Refused(uint64_t name, GroupId group, bool by_lender,
               std::chrono::milliseconds within);
  void Lent(GroupId group) { given_up_.erase(group.value()); }
  bool GaveUp(GroupId group) const { return given_up_.contains(group.value()); }

 private:
  uint32_t next_ = 0;
  uint64_t asked_ = 0;
  // Names of which a lender was asked that did not answer yet.
  absl::flat_hash_map<uint64_t, uint32_t> asked_of_;
  // Names that were refused, since when.
  absl::flat_hash_map<uint64_t, SilentNodes::Clock::time_point> since_;
  absl::flat_hash_set<uint32_t> given_up_;  // groups
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_LOANS_H_
