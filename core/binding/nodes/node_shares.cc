// SPDX-License-Identifier: Apache-2.0
#include "core/binding/nodes/node_shares.h"

#include <algorithm>

namespace shufflefs {

NodeShares::NodeShares(const Grouping& grouping, const Chunks& chunks,
                       uint64_t dataset_key, uint32_t nodes)
    : grouping_(grouping),
      key_(DeriveKey(Seed(0), Epoch(0), dataset_key, Purpose::kNodeShares)),
      owner_(grouping.sample_count()) {
  const Permutation order(chunks.size(), key_);
  for (uint64_t i = 0; i < chunks.size(); ++i) {
    for (const uint32_t sample : chunks[order(i)]) {
      owner_[sample] = static_cast<uint16_t>(i % nodes);
    }
  }
}

SampleId NodeShares::PartnerOf(SampleId name) const {
  const Grouping::Group& group = GroupOf(name);
  return SampleId(group.first_sample +
                  PiOf(group)(name.value() - group.first_sample));
}

SampleId NodeShares::NameOf(SampleId partner) const {
  const Grouping::Group& group = GroupOf(partner);
  return SampleId(group.first_sample +
                  PiOf(group).Inverse(partner.value() - group.first_sample));
}

uint64_t NodeShares::CountOf(uint32_t node) const {
  return static_cast<uint64_t>(
      std::count(owner_.begin(), owner_.end(), static_cast<uint16_t>(node)));
}

std::vector<uint32_t> NodeShares::CountsOf(uint32_t node) const {
  std::vector<uint32_t> counts(grouping_.group_count());
  for (uint64_t s = 0; s < owner_.size(); ++s) {
    if (owner_[s] == node) ++counts[grouping_.group_of(SampleId(s)).value()];
  }
  return counts;
}

uint64_t HashOfChunks(const NodeShares::Chunks& chunks) {
  uint64_t hash = chunks.size();
  for (const std::vector<uint32_t>& chunk : chunks) {
    hash = Mix64(hash ^ chunk.size());
    for (const uint32_t sample : chunk) hash = Mix64(hash ^ sample);
  }
  return hash;
}

}  // namespace shufflefs
