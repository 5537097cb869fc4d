// SPDX-License-Identifier: Apache-2.0
// NodeShares divides the samples of a view, and its names, among the nodes of a
// job. Each sample has one owner, which alone reads it from the source. Each
// name has one owner, which alone decides what the name shows. In each group,
// a node owns as many names as samples. So each node binds its names to its
// samples as if there were no others, and over all nodes names and samples are
// one to one.
//
// Specified bit for bit, because all nodes must find the same owners. Let
//   key = DeriveKey(0, 0, dataset key, kNodeShares).
//   The i-th chunk of Permutation(chunks, key) has the owner i mod nodes, and
//     its samples have the same owner. Shares differ by one chunk at most.
//   Of a group with n samples, pi = Permutation(n, SubKey(key, group key)). The
//     i-th name has the owner of the pi(i)-th sample, its partner.
// Owners do not depend on the epoch: a node keeps in memory what it owns. What
// a name shows, and which node asks for it, is new in each epoch.
#ifndef SHUFFLEFS_CORE_BINDING_NODES_NODE_SHARES_H_
#define SHUFFLEFS_CORE_BINDING_NODES_NODE_SHARES_H_

#include <cstdint>
#include <vector>

#include "core/base/types.h"
#include "core/dataset/grouping.h"
#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {

// Constant after construction; any thread may call. Memory: 2 bytes a sample.
class NodeShares {
 public:
  static constexpr uint32_t kMostNodes = 65535;

  using Chunks = std::vector<std::vector<uint32_t>>;
  // `chunks`: every sample is in exactly one. `grouping` outlives this.
  // REQUIRES: 1 <= nodes <= kMostNodes.
  NodeShares(const Grouping& grouping, const Chunks& chunks,
             uint64_t dataset_key, uint32_t nodes);

  // The number of the node, from 0, that owns a sample.
  uint32_t OwnerOf(SampleId sample) const { return owner_[sample.value()]; }
  // The sample whose owner also owns `name`.
  SampleId PartnerOf(SampleId name) const;
  // The inverse: the name whose partner it is.
  SampleId NameOf(SampleId partner) const;
  // The number of samples that a node owns; as many names.
  uint64_t CountOf(uint32_t node) const;
  // The same by group.
  std::vector<uint32_t> CountsOf(uint32_t node) const;

 private:
  const Grouping::Group& GroupOf(SampleId id) const {
    return grouping_.group(grouping_.group_of(id));
  }
  Permutation PiOf(const Grouping::Group& group) const {
    return Permutation(group.samples, SubKey(key_, group.key));
  }

  const Grouping& grouping_;
  const RandomKey key_;
  std::vector<uint16_t> owner_;  // by sample
};

// A hash of how samples form chunks. Nodes with different chunks would find
// different owners.
uint64_t HashOfChunks(const NodeShares::Chunks& chunks);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_NODE_SHARES_H_
