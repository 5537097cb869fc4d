// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/nodes/simulated_nodes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/config/config.h"
#include "core/config/value_text.h"
#include "core/engine/producer_factory.h"
#include "core/peers/peers.h"
#include "core/pool/pool_memory.h"
#include "core/pool/sample_producer.h"
#include "policies/brand/brand.h"
#include "policies/brand/nodes/node_simulation.h"
#include "policies/brand/nodes/peers_simulation.h"

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

// What a daemon with peers and a view of brand does with its memory.
struct MemoryOfNode {
  uint64_t pool = 0;
  uint64_t room = 0;  // for what comes with answers
};
MemoryOfNode DivideMemory(uint64_t memory) {
  MountConfig config;
  config.memory = memory;
  config.peers.members = "peers";
  config.views.resize(1);
  config.views.front().policy = "brand";
  const PolicyEntry* const entries[] = {&kBrandEntry};
  const PolicyTable policies = entries;
  return {MemoryOfAView(config, policies),
          PeersBytes(config, policies, PoolBytes(memory))};
}

SimulatedPeers::Epoch PerSample(const PeersTraffic& traffic,
                                const BinderInput& input) {
  const auto samples =
      static_cast<double>(std::max<size_t>(1, input.bytes.size()));
  const uint64_t all =
      std::accumulate(input.bytes.begin(), input.bytes.end(), uint64_t{0});
  return {static_cast<double>(traffic.source_bytes) /
              static_cast<double>(std::max<uint64_t>(1, all)),
          static_cast<double>(traffic.name_requests) / samples,
          static_cast<double>(traffic.byte_requests) / samples,
          static_cast<double>(traffic.own) / samples};
}

absl::Status CheckMemory(uint64_t pool) {
  if (pool >= SampleProducer::kLeastMemory) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("memory: policy = brand needs at least ",
                   MemoryFor(SampleProducer::kLeastMemory, 1) >> 20, "MiB"));
}

}  // namespace

absl::StatusOr<SimulatedPeers> SimulatePeers(const ModelRequest& request,
                                             const ModelData& data,
                                             uint32_t nodes) {
  const MemoryOfNode memory = DivideMemory(request.memory_bytes);
  RETURN_IF_ERROR(CheckMemory(memory.pool));
  BinderInput input = *data.binder;
  input.memory_bytes = memory.pool;
  SimulatedPeers found;
  found.nodes = nodes;
  found.memory_bytes = request.memory_bytes;
  found.room_bytes = memory.room;
  const uint64_t mean =
      std::accumulate(data.bytes->begin(), data.bytes->end(), uint64_t{0}) /
          std::max<size_t>(1, data.bytes->size()) +
      1;
  found.names_ahead =
      std::min(kMostNamesAhead, Peers::NamesAheadIn(memory.room, mean));
  found.how = data.how;
  const BrandOptions brand = BrandOptions::Of(request.keys);
  PeersSimulation::Options options{.nodes = nodes,
                                   .names_ahead = found.names_ahead,
                                   .room_bytes = memory.room,
                                   .binding = brand.binding,
                                   .locality = brand.locality};
  const Epoch after(request.epoch.value() + 1);
  PeersSimulation simulation(input, options);
  found.first = PerSample(simulation.Run(request.seed, request.epoch), input);
  found.next = PerSample(simulation.Run(request.seed, after), input);
  options.names_ahead = options.room_bytes = 0;
  PeersSimulation alone(input, options);
  alone.Run(request.seed, request.epoch);
  found.alone = PerSample(alone.Run(request.seed, after), input);
  return found;
}

std::string SimulatedPeersText(const SimulatedPeers& found) {
  const SimulatedPeers::Epoch& first = found.first;
  const SimulatedPeers::Epoch& next = found.next;
  std::string text =
      absl::StrCat(found.nodes, " nodes with ", HumanBytes(found.memory_bytes),
                   " of memory each, ", HumanBytes(found.room_bytes),
                   " of it for samples that come with names; ", found.how, "; ",
                   found.names_ahead, " names are asked for ahead\n\n");
  const auto row = [&](absl::string_view title, const auto& value) {
    absl::StrAppendFormat(&text, "  %-38s%13.3f%13.3f%13.3f\n", title,
                          value(first), value(next), value(found.alone));
  };
  using Epoch = SimulatedPeers::Epoch;
  absl::StrAppendFormat(&text, "  %-38s%13s%13s%13s\n", "with the key peers",
                        "first epoch", "next epoch", "one by one");
  row("read from the source, datasets",
      [](const Epoch& e) { return e.source; });
  row("requests of other nodes, a sample",
      [](const Epoch& e) { return e.name_requests + e.byte_requests; });
  row("  about names", [](const Epoch& e) { return e.name_requests; });
  row("  for bytes", [](const Epoch& e) { return e.byte_requests; });
  row("share of samples shown by their owner",
      [](const Epoch& e) { return e.own; });
  return absl::StrCat(
      text,
      "  One by one: the next epoch, if each name is asked for by itself and "
      "no file comes\n  with an answer.\n",
      absl::StrFormat("  By chance, an owner shows %.3f.\n", 1.0 / found.nodes),
      "  Here nodes read in step and know what they read next from the first "
      "name on, and\n  what a node fetches is there at once. A real job needs "
      "more requests.\n");
}

nlohmann::ordered_json SimulatedPeersJson(const SimulatedPeers& found) {
  const auto json_of = [](const SimulatedPeers::Epoch& epoch) {
    return nlohmann::ordered_json{{"source", epoch.source},
                                  {"name_requests", epoch.name_requests},
                                  {"byte_requests", epoch.byte_requests},
                                  {"own", epoch.own}};
  };
  return {{"room", found.room_bytes},
          {"names_ahead", found.names_ahead},
          {"first", json_of(found.first)},
          {"next", json_of(found.next)},
          {"one_by_one", json_of(found.alone)}};
}

absl::StatusOr<SimulatedNodes> SimulateNodes(const ModelRequest& request,
                                             const ModelData& data,
                                             uint32_t nodes) {
  const uint64_t pool = GuaranteeOf(request.memory_bytes, 1);
  RETURN_IF_ERROR(CheckMemory(pool));
  SimulatedNodes found;
  found.nodes = nodes;
  found.memory_bytes = request.memory_bytes;
  found.ahead_bytes = pool / 10;
  BinderInput input = *data.binder;
  input.memory_bytes = nodes * (pool - found.ahead_bytes);
  found.how = data.how;
  for (size_t i = 0; i < found.rows.size(); ++i) {
    const Variant& variant = kVariants[i];
    const NodeTraffic traffic =
        Run(input,
            {.nodes = nodes,
             .refill = variant.refill,
             .ahead_bytes = variant.prefetch ? found.ahead_bytes : 0},
            request.seed, request.epoch);
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
