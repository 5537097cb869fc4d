// SPDX-License-Identifier: Apache-2.0
// EpochShare says who shares the names of an epoch: which nodes, which of them
// this one is, and which of them owns each name. All nodes find the same.
#ifndef SHUFFLEFS_CORE_BINDING_NODES_EPOCH_SHARE_H_
#define SHUFFLEFS_CORE_BINDING_NODES_EPOCH_SHARE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/types.h"
#include "core/binding/nodes/node_shares.h"
#include "core/binding/nodes/passed_names.h"
#include "core/dataset/grouping.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

// The nodes that share an epoch, and what all of them know.
struct NameSharing {
  // Of the epoch, ordered. Empty if nothing is shared.
  std::vector<std::string> members;
  std::string self;      // this node. It need not be one of them.
  uint64_t binding = 0;  // hash of what names show, for questions
  // Pairs that hold from the beginning of the epoch. All nodes know them. The
  // name's owner need not be the sample's.
  std::vector<NameBinding> known;
};

// Never changed once made. Any thread may call.
struct EpochShare {
  // What the nodes divide.
  struct Names {
    const Grouping* grouping = nullptr;  // these outlive the share
    const NodeShares::Chunks* chunks = nullptr;
    uint64_t dataset_key = 0;
    bool passes = false;  // names may be passed: own_counts is needed
  };
  // Null if nothing is shared, because there are no nodes, or too many, or
  // their pairs contradict each other. Takes over from `before` (may be null)
  // what is the same.
  static std::shared_ptr<const EpochShare> Make(const Names& names,
                                                const NameSharing& sharing,
                                                const EpochShare* before);

  // The name, its owner, and the sample by which the own pool of the owner
  // knows it if it is not passed. Pairs that all nodes know change partners:
  // see RetainedBindings.
  SharedName Named(SampleId name) const;
  SampleId NameOfPartner(SampleId partner) const;
  // The numbers of the chunks that this node owns.
  std::vector<uint32_t> OwnChunks(const NodeShares::Chunks& chunks) const;
  // The number of a member; members.size() if it is none.
  uint32_t IndexOf(const std::string& member) const;

  std::vector<std::string> members;
  uint32_t self = 0;  // index in members; members.size(): it is none
  uint64_t binding = 0;
  std::shared_ptr<const NodeShares> nodes;
  RetainedBindings known;
  // If names may be passed: how many samples of each group this node owns.
  std::shared_ptr<const std::vector<uint32_t>> own_counts;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_EPOCH_SHARE_H_
