// SPDX-License-Identifier: Apache-2.0
// Owners says which member of a group reads a part of a file from the source
// and keeps it for all: a rendezvous hash (highest random weight). All members
// with the same list of names find the same owner. If a member comes or goes,
// only its own parts move.
#ifndef SHUFFLEFS_CORE_PEERS_OWNERS_H_
#define SHUFFLEFS_CORE_PEERS_OWNERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/types.h"
#include "core/peers/peer_transport.h"

namespace shufflefs {

// A part of a file: kBytes bytes of it, the last one maybe fewer.
struct ExtentId {
  static constexpr uint64_t kBytes = uint64_t{1} << 20;

  EntryId file;
  uint32_t part = 0;  // it begins at part * kBytes

  friend bool operator==(const ExtentId&, const ExtentId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ExtentId& id) {
    return H::combine(std::move(h), id.file, id.part);
  }
};

// Thread-safe: constant after construction.
class Owners {
 public:
  explicit Owners(std::shared_ptr<const PeerGroup> group);

  // The index of the owner in the group. REQUIRES: the group has a member.
  size_t Of(ExtentId id) const;
  const std::shared_ptr<const PeerGroup>& group() const { return group_; }
  // Returns whether this daemon is a member of a group of several.
  bool has_others() const { return has_others_; }

 private:
  const std::shared_ptr<const PeerGroup> group_;
  std::vector<uint64_t> hashes_;  // of the members' names
  bool has_others_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_OWNERS_H_
