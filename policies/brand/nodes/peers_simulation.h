// SPDX-License-Identifier: Apache-2.0
// PeersSimulation counts what nodes that share the names of a `brand` view cost
// each other and the source, by the protocol of
// core/binding/nodes/shared_names.h and core/peers. For `shufflectl simulate
// brand --nodes`, and for tests.
//
// Each name has an owner (NodeShares), which alone binds it, to a sample that
// it owns. Another node asks the owner, for some names ahead of its reader. The
// answer brings the samples that the owner has in memory. What it did not bring
// costs a request for bytes. With locality, names are passed to the node that
// asks (core/binding/nodes/passed_names.h).
//
// The nodes read in step. Each has every n-th name of a random order, as
// DistributedSampler gives them, and knows that order from the first name on.
// What a pool fetches is there at once.
#ifndef SHUFFLEFS_POLICIES_BRAND_NODES_PEERS_SIMULATION_H_
#define SHUFFLEFS_POLICIES_BRAND_NODES_PEERS_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/binding/nodes/node_shares.h"
#include "core/binding/nodes/passed_names.h"
#include "core/dataset/grouping.h"
#include "core/policy/binder.h"
#include "core/random/permutation.h"
#include "policies/auto/pool_simulation.h"
#include "policies/brand/brand.h"

namespace shufflefs {

// Of one epoch.
struct PeersTraffic {
  uint64_t source_bytes = 0;
  uint64_t name_requests = 0;
  uint64_t byte_requests = 0;
  uint64_t own = 0;  // samples that the node showed which owns them
  std::vector<uint32_t> shown_by;  // by sample: the node, from 0
};

// Not thread-safe.
class PeersSimulation {
 public:
  struct Options {
    uint32_t nodes = 1;
    // Names that a node asks for ahead of its reader. Below 2: none.
    uint64_t names_ahead = 64;
    // Memory of each node for what comes with answers.
    uint64_t room_bytes = 0;
    BrandOptions::Binding binding = BrandOptions::Binding::kGroup;
    double locality = 0;
  };
  // `input` outlives the simulation. Its memory_bytes are those of each node's
  // pool.
  PeersSimulation(const BinderInput& input, const Options& options);

  // Deterministic. Takes about a microsecond per sample.
  PeersTraffic Run(Seed seed, Epoch epoch);

 private:
  // A node has numbers of its own for the samples that it owns, and uses them
  // for the names that it owns, too.
  struct Node {
    std::vector<uint32_t> samples;  // by own number
    Grouping grouping = Grouping::WithoutFiles({});
    BinderInput input;
    std::unique_ptr<Binder> binder;
    std::unique_ptr<PoolSimulation> pool;
    std::shared_ptr<const std::vector<uint32_t>> counts;  // samples by group
    SimulatedEpoch epoch;
    PassedNames passed;
    uint64_t asked = 0;       // names of its share that it has asked for
    uint64_t room_bytes = 0;  // free
  };
  struct Known {
    uint32_t node = 0;     // that owns the sample
    SampleId sample{0};    // by its numbers
    bool is_here = false;  // its bytes came with the answer
  };
  // A name that a node binds.
  struct Owned {
    Node& node;
    SampleId name;  // its place, by the node's own numbers
  };

  void Make(Node& node);
  PassedNames NamesOf(uint32_t node, uint64_t binding) const;
  SharedName Named(uint64_t name) const;
  // Absent: the node has no free place.
  absl::optional<Owned> PlaceAt(uint32_t node, const SharedName& name);
  // The place of the name at the node that binds it, or at one that lends it.
  Owned Place(uint32_t binder, const SharedName& name);
  bool IsReady(const SharedName& name);
  // Asks the owner to pass the name to the node. Returns whether it did.
  bool Passes(uint32_t node, const SharedName& name);
  void ReadOwn(uint32_t node, const Owned& owned);
  // Node `node` reads the name at place `at` of its share.
  void Read(const Permutation& order, uint32_t node, uint64_t at);
  // Returns the sample, by the owner's numbers.
  void ReadOfOther(uint32_t node, const SharedName& name);
  void AskForBytes(Node& owner, SampleId sample);
  // Asks for the names from `next` on, if few were asked for.
  void AskAhead(const Permutation& order, uint32_t node, uint64_t next);
  // One question to one owner.
  void Ask(uint32_t node, const std::vector<uint64_t>& names);

  // Constant after construction.
  const BinderInput& input_;
  const Options options_;
  const uint64_t mean_bytes_;
  const std::shared_ptr<const NodeShares> shares_;

  std::vector<uint32_t> own_number_;  // by sample, on its owner
  std::vector<Node> nodes_;
  // By name: those that the node which reads them knows ahead.
  absl::flat_hash_map<uint64_t, Known> known_;
  PeersTraffic traffic_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_NODES_PEERS_SIMULATION_H_
