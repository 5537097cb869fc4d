// SPDX-License-Identifier: Apache-2.0
// `shufflectl simulate brand --nodes`: what the protocol of the Brand paper
// (arXiv:2505.16280) costs on several nodes, beside the paper's own table.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_NODES_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_NODES_H_

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/types.h"
#include "mount-tools/ctl/check/simulated_pool.h"

namespace shufflefs {

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

// `simulated.memory_bytes` are those of each node. A tenth of them is for what
// others send ahead; this was best in the paper. Takes some us per sample.
// Errors: InvalidArgument for memory that no mount would accept.
absl::StatusOr<SimulatedNodes> SimulateNodes(const PoolData& data,
                                             const PoolOptions& simulated,
                                             uint32_t nodes, Epoch epoch);

std::string SimulatedNodesText(const SimulatedNodes& found);
nlohmann::ordered_json SimulatedNodesJson(const SimulatedNodes& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_NODES_H_
