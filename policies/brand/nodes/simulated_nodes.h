// SPDX-License-Identifier: Apache-2.0
// `shufflectl simulate brand --nodes`: what peers cost each other and the
// source, and what the protocol of the Brand paper (arXiv:2505.16280) costs on
// several nodes, beside the paper's own table.
#ifndef SHUFFLEFS_POLICIES_BRAND_NODES_SIMULATED_NODES_H_
#define SHUFFLEFS_POLICIES_BRAND_NODES_SIMULATED_NODES_H_

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "core/policy/policy_model.h"

namespace shufflefs {

// Nodes that share names as the daemons do, with the keys peers and brand.
struct SimulatedPeers {
  struct Epoch {
    double source = 0;  // datasets
    // By sample.
    double name_requests = 0;
    double byte_requests = 0;
    double own = 0;  // samples that the node showed which owns them
  };
  uint32_t nodes = 0;
  uint64_t memory_bytes = 0;  // of each node
  uint64_t room_bytes = 0;    // of these, for what comes with answers
  uint64_t names_ahead = 0;
  std::string how;  // how chunks were composed
  Epoch first;      // begins with empty memory
  Epoch next;
  Epoch alone;  // as next, if each name is asked for by itself
};

// As SimulateNodes.
absl::StatusOr<SimulatedPeers> SimulatePeers(const ModelRequest& request,
                                             const ModelData& data,
                                             uint32_t nodes);

std::string SimulatedPeersText(const SimulatedPeers& found);
nlohmann::ordered_json SimulatedPeersJson(const SimulatedPeers& found);

struct SimulatedNodes {
  // By location and epoch.
  struct Row {
    double misses = 0;
    double requests = 0;  // of other nodes
  };
  static constexpr size_t kVariants = 4;

  uint32_t nodes = 0;
  uint64_t memory_bytes = 0;  // of each node
  uint64_t ahead_bytes = 0;   // of these, for what others send ahead
  std::string how;            // how chunks were composed
  uint64_t locations = 0;
  // No optimisation, no prefetching, chunks chosen at random, the whole
  // protocol.
  std::array<Row, kVariants> rows;
};

// `request.memory_bytes` are those of each node. A tenth of them is for what
// others send ahead; this was best in the paper. Takes some us per sample.
// Errors: InvalidArgument for memory that no mount would accept.
absl::StatusOr<SimulatedNodes> SimulateNodes(const ModelRequest& request,
                                             const ModelData& data,
                                             uint32_t nodes);

std::string SimulatedNodesText(const SimulatedNodes& found);
nlohmann::ordered_json SimulatedNodesJson(const SimulatedNodes& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_NODES_SIMULATED_NODES_H_
