// SPDX-License-Identifier: Apache-2.0
#include "core/peers/owners.h"

#include <xxhash.h>

#include <utility>

#include "core/random/random.h"

namespace shufflefs {

Owners::Owners(std::shared_ptr<const PeerGroup> group)
    : group_(std::move(group)) {
  bool self = false;
  for (const PeerGroup::Member& member : group_->members) {
    hashes_.push_back(XXH3_64bits(member.name.data(), member.name.size()));
    self |= member.self;
  }
  has_others_ = self && hashes_.size() > 1;
}

size_t Owners::Of(ExtentId id) const {
  const uint64_t key = Mix64((uint64_t{id.file.value()} << 32 | id.part) + 1);
  size_t owner = 0;
  uint64_t most = 0;
  for (size_t i = 0; i < hashes_.size(); ++i) {
    const uint64_t weight = Mix64(key ^ hashes_[i]);
    if (i > 0 && weight <= most) continue;
    owner = i;
    most = weight;
  }
  return owner;
}

}  // namespace shufflefs
