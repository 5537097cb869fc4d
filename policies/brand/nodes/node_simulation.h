// SPDX-License-Identifier: Apache-2.0
// NodeSimulation counts what the protocol of the Brand paper costs on several
// nodes (arXiv:2505.16280, sections 3.4 and 5). For `shufflectl simulate brand
// --nodes`, and for tests.
//
// All nodes together have one abstract memory of locations. A chunk group and
// its locations have an owner, and only the owner reads its chunks. A node that
// wants a name of another node's location requests it from the owner. The owner
// answers with what the location holds, or loads a chunk first.
//
// With opportunistic prefetching the owner sends besides what it holds for the
// names that the node wants next. A node has some memory for this, with one
// slot for each location. What is sent counts as consumed.
//
// The nodes read in step. Each has every n-th name of a random order, as
// DistributedSampler gives them.
#ifndef SHUFFLEFS_POLICIES_BRAND_NODES_NODE_SIMULATION_H_
#define SHUFFLEFS_POLICIES_BRAND_NODES_NODE_SIMULATION_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/policy/binder.h"
#include "core/random/permutation.h"
#include "policies/auto/pool_simulation.h"
#include "policies/brand/location_binder.h"

namespace shufflefs {

// Of one epoch.
struct NodeTraffic {
  uint64_t locations = 0;
  uint64_t misses = 0;      // names for which a chunk was loaded, or one sample
  uint64_t requests = 0;    // of a node to another one
  uint64_t sent_ahead = 0;  // samples that were prefetched from another node
  std::vector<uint64_t> samples;  // that were shown, of all nodes
};

// Not thread-safe.
class NodeSimulation {
 public:
  struct Options {
    uint32_t nodes = 1;
    LocationBinder::Refill refill = LocationBinder::Refill::kFillRate;
    // Memory of each node for what others send ahead. 0: nothing is sent ahead.
    uint64_t ahead_bytes = 0;
  };

  // `input` outlives the simulation. Its memory_bytes are what all nodes
  // together have for locations.
  NodeSimulation(const BinderInput& input, const Options& options);

  // Deterministic. Takes some us per sample.
  NodeTraffic Run(Seed seed, Epoch epoch);

 private:
  struct Node {
    uint64_t free_slots = 0;
    // The locations of what was sent ahead and not read yet.
    absl::flat_hash_set<uint32_t> slots;
  };

  uint32_t LocationOf(uint64_t name) const {
    return binder_.map().location_of(static_cast<uint32_t>(name));
  }
  uint32_t OwnerOf(uint32_t location) const {
    return binder_.map().chunk_group_of(location) % options_.nodes;
  }
  // Node `node` reads name `at` of its share.
  void Read(const Permutation& order, uint32_t node, uint64_t at);
  // `owner` sends what it holds for the names after `at`.
  void SendAhead(const Permutation& order, uint32_t node, uint64_t at,
                 uint32_t owner);
  void Show(uint64_t name);

  // Constant after construction.
  const BinderInput& input_;
  const Options options_;
  const uint64_t slots_;  // of a node

  LocationBinder binder_;
  PoolSimulation pool_;
  std::vector<Node> nodes_;
  std::vector<bool> sent_;  // by name: it was sent ahead in this epoch
  SimulatedEpoch epoch_;
  NodeTraffic traffic_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_NODES_NODE_SIMULATION_H_
