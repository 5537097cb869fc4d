// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/nodes/node_simulation.h"

#include <algorithm>
#include <utility>

#include "core/random/random.h"

namespace shufflefs {
namespace {

uint64_t SlotsOf(const BinderInput& input, uint64_t bytes) {
  if (input.bytes.empty()) return 0;
  const uint64_t largest =
      *std::max_element(input.bytes.begin(), input.bytes.end());
  return bytes / std::max<uint64_t>(largest, 1);
}

}  // namespace

NodeSimulation::NodeSimulation(const BinderInput& input, const Options& options)
    : input_(input),
      options_(options),
      slots_(SlotsOf(input, options.ahead_bytes)),
      binder_(input, options.refill),
      pool_(input, binder_) {}

NodeTraffic NodeSimulation::Run(Seed seed, Epoch epoch) {
  const uint64_t before = binder_.counts().misses;
  binder_.BeginEpoch(seed, epoch, {});
  epoch_ = {};
  traffic_ = {};
  nodes_.assign(options_.nodes, Node{.free_slots = slots_, .slots = {}});
  sent_.assign(input_.bytes.size(), false);
  const Permutation order(
      input_.bytes.size(),
      DeriveKey(seed, epoch, input_.dataset_key, Purpose::kMeasure));
  for (uint64_t i = 0; i < order.size(); ++i) {
    Read(order, static_cast<uint32_t>(i % options_.nodes), i / options_.nodes);
  }
  traffic_.locations = binder_.map().location_count();
  traffic_.misses = binder_.counts().misses - before;
  traffic_.samples = std::move(epoch_.samples);
  return std::move(traffic_);
}

void NodeSimulation::Read(const Permutation& order, uint32_t node,
                          uint64_t at) {
  const uint64_t name = order(at * options_.nodes + node);
  const uint32_t location = LocationOf(name);
  if (sent_[name]) {
    nodes_[node].slots.erase(location);
    ++nodes_[node].free_slots;
    return;
  }
  Show(name);
  const uint32_t owner = OwnerOf(location);
  if (owner == node) return;
  ++traffic_.requests;
  SendAhead(order, node, at, owner);
}

void NodeSimulation::SendAhead(const Permutation& order, uint32_t node,
                               uint64_t at, uint32_t owner) {
  Node& to = nodes_[node];
  // Of so many names the owner has about as many as there are slots.
  const uint64_t last = at + slots_ * options_.nodes;
  for (uint64_t next = at + 1; next <= last && to.free_slots > 0; ++next) {
    if (next * options_.nodes + node >= order.size()) return;
    const uint64_t name = order(next * options_.nodes + node);
    const uint32_t location = LocationOf(name);
    if (OwnerOf(location) != owner || sent_[name] ||
        !binder_.holds(SampleId(name)) || !to.slots.insert(location).second) {
      continue;
    }
    --to.free_slots;
    sent_[name] = true;
    ++traffic_.sent_ahead;
    Show(name);
  }
}

void NodeSimulation::Show(uint64_t name) { pool_.Show(SampleId(name), epoch_); }

}  // namespace shufflefs
