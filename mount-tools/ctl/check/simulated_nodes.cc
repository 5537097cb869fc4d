// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/simulated_nodes.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/config/value_text.h"
#include "core/pool/supply.h"
#include "policies/auto/node_simulation.h"

namespace shufflefs {
namespace {

using Refill = LocationBinder::Refill;

struct Variant {
  const char* name;
  const char* key;
  Refill refill;
  bool prefetch;
  SimulatedNodes::Row paper;
};
constexpr Variant kVariants[SimulatedNodes::kVariants] = {
    {"no optimisation", "none", Refill::kNone, false, {1.91, 8.54}},
    {"no prefetching",
     "no_prefetching",
     Refill::kFillRate,
     false,
     {1.78, 8.54}},
    {"chunks chosen at random", "random", Refill::kRandom, true, {1.33, 0.46}},
    {"the whole protocol", "all", Refill::kFillRate, true, {1.26, 0.41}},
};

NodeTraffic Run(const BinderInput& input,
                const NodeSimulation::Options& options, Seed seed,
                Epoch epoch) {
  NodeSimulation simulation(input, options);
  if (epoch.value() > 0) simulation.Run(seed, Epoch(epoch.value() - 1));
  return simulation.Run(seed, epoch);
}

}  // namespace

absl::StatusOr<SimulatedNodes> SimulateNodes(const PoolData& data,
                                             const PoolOptions& simulated,
                                             uint32_t nodes, Epoch epoch) {
  const uint64_t pool = GuaranteeOf(simulated.memory_bytes, 1);
  if (pool < Supply::kLeastMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: policy = brand needs at least ",
                     MemoryFor(Supply::kLeastMemory, 1) >> 20, "MiB"));
  }
  SimulatedNodes found;
  found.nodes = nodes;
  found.memory_bytes = simulated.memory_bytes;
  found.ahead_bytes = pool / 10;
  PoolInput input = MakePoolInput(data, simulated);
  input.binder.memory_bytes = nodes * (pool - found.ahead_bytes);
  found.how = input.how;
  for (size_t i = 0; i < found.rows.size(); ++i) {
    const Variant& variant = kVariants[i];
    const NodeTraffic traffic =
        Run(input.binder,
            {.nodes = nodes,
             .refill = variant.refill,
             .ahead_bytes = variant.prefetch ? found.ahead_bytes : 0},
            simulated.seed, epoch);
    found.locations = traffic.locations;
    const auto locations = static_cast<double>(traffic.locations);
    found.rows[i] = {static_cast<double>(traffic.misses) / locations,
                     static_cast<double>(traffic.requests) / locations};
  }
  return found;
}

std::string SimulatedNodesText(const SimulatedNodes& found) {
  std::string text =
      absl::StrCat(found.nodes, " nodes with ", HumanBytes(found.memory_bytes),
                   " of memory each, ", HumanBytes(found.ahead_bytes),
                   " of it for samples that others send ahead; ", found.how,
                   "; ", HumanCount(found.locations), " memory locations\n\n");
  absl::StrAppendFormat(&text, "  %-26s%22s%22s\n", "by location and epoch",
                        "here", "paper, 3 nodes");
  absl::StrAppendFormat(&text, "  %-26s%10s%12s%10s%12s\n", "", "misses",
                        "requests", "misses", "requests");
  for (size_t i = 0; i < found.rows.size(); ++i) {
    absl::StrAppendFormat(&text, "  %-26s%10.2f%12.2f%10.2f%12.2f\n",
                          kVariants[i].name, found.rows[i].misses,
                          found.rows[i].requests, kVariants[i].paper.misses,
                          kVariants[i].paper.requests);
  }
  return absl::StrCat(text,
                      "  A miss loads a chunk. Requests are those of a node to "
                      "another one.\n");
}

nlohmann::ordered_json SimulatedNodesJson(const SimulatedNodes& found) {
  nlohmann::ordered_json json = {{"nodes", found.nodes},
                                 {"memory", found.memory_bytes},
                                 {"ahead", found.ahead_bytes},
                                 {"how", found.how},
                                 {"locations", found.locations}};
  for (size_t i = 0; i < found.rows.size(); ++i) {
    json[kVariants[i].key] = {{"misses", found.rows[i].misses},
                              {"requests", found.rows[i].requests}};
  }
  return json;
}

}  // namespace shufflefs
