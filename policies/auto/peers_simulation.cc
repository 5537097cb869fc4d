// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/peers_simulation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/peers/name_question.h"
#include "core/peers/owners.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

uint64_t Mean(const std::vector<uint64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}) /
             std::max<size_t>(1, bytes.size()) +
         1;
}

}  // namespace

PeersSimulation::PeersSimulation(const BinderInput& input,
                                 const Options& options)
    : input_(input),
      options_(options),
      mean_bytes_(Mean(input.bytes)),
      shares_(*input.grouping, input.chunks, input.dataset_key, options.nodes),
      own_number_(input.bytes.size()),
      nodes_(options.nodes) {
  for (uint64_t s = 0; s < own_number_.size(); ++s) {
    std::vector<uint32_t>& samples =
        nodes_[shares_.OwnerOf(SampleId(s))].samples;
    own_number_[s] = static_cast<uint32_t>(samples.size());
    samples.push_back(static_cast<uint32_t>(s));
  }
  for (const std::vector<uint32_t>& chunk : input.chunks) {
    if (chunk.empty()) continue;
    std::vector<uint32_t> own;
    for (const uint32_t s : chunk) own.push_back(own_number_[s]);
    nodes_[shares_.OwnerOf(SampleId(chunk.front()))].input.chunks.push_back(
        std::move(own));
  }
  for (Node& node : nodes_) Make(node);
}

void PeersSimulation::Make(Node& node) {
  std::vector<uint32_t> sizes(input_.grouping->group_count());
  for (const uint32_t s : node.samples) {
    ++sizes[input_.grouping->group_of(SampleId(s)).value()];
    node.input.bytes.push_back(input_.bytes[s]);
  }
  node.grouping = Grouping::WithoutFiles(sizes);
  node.input.grouping = &node.grouping;
  node.input.dataset_key = input_.dataset_key;
  node.input.memory_bytes = input_.memory_bytes;
  BrandOptions brand;
  brand.binding = options_.binding;
  node.binder = BrandPolicy(std::move(brand)).MakeBinder(node.input);
  node.pool = std::make_unique<PoolSimulation>(node.input, *node.binder);
}

PeersTraffic PeersSimulation::Run(Seed seed, Epoch epoch) {
  traffic_ = {};
  traffic_.shown_by.resize(input_.bytes.size());
  known_.clear();
  uint64_t before = 0;
  for (Node& node : nodes_) {
    before += node.pool->read_bytes();
    node.binder->BeginEpoch(seed, epoch, {});
    node.epoch = {};
    node.asked = 0;
    node.room_bytes = options_.room_bytes;
  }
  const Permutation order(
      input_.bytes.size(),
      DeriveKey(seed, epoch, input_.dataset_key, Purpose::kMeasure));
  for (uint64_t i = 0; i < order.size(); ++i) {
    Read(order, static_cast<uint32_t>(i % options_.nodes), i / options_.nodes);
  }
  for (const Node& node : nodes_) {
    traffic_.source_bytes += node.pool->read_bytes();
  }
  traffic_.source_bytes -= before;
  return std::move(traffic_);
}

PeersSimulation::Owned PeersSimulation::OwnerOf(uint64_t name) {
  const SampleId partner = shares_.PartnerOf(SampleId(name));
  return {nodes_[shares_.OwnerOf(partner)],
          SampleId(own_number_[partner.value()])};
}

void PeersSimulation::Read(const Permutation& order, uint32_t node,
                           uint64_t at) {
  const uint64_t name = order(at * options_.nodes + node);
  const Owned owned = OwnerOf(name);
  Node& asker = nodes_[node];
  if (&owned.node == &asker) {
    const SampleId sample = asker.pool->Open(owned.name, asker.epoch);
    asker.pool->Read(sample, asker.epoch);
    traffic_.shown_by[asker.samples[sample.value()]] = node;
    ++traffic_.own;
  } else {
    const SampleId sample = ReadOfOther(asker, owned, name);
    traffic_.shown_by[owned.node.samples[sample.value()]] = node;
  }
  AskAhead(order, node, at + 1);
}

SampleId PeersSimulation::ReadOfOther(Node& asker, const Owned& owned,
                                      uint64_t name) {
  const auto found = known_.find(name);
  if (found != known_.end()) {
    const Known known = found->second;
    known_.erase(found);
    if (known.is_here) {
      asker.room_bytes += BytesOf(owned, known.sample);
    } else {
      AskForBytes(owned, known.sample);
    }
    return known.sample;
  }
  ++traffic_.name_requests;
  const bool is_ready = owned.node.pool->IsReady(owned.name);
  const SampleId sample = owned.node.pool->Open(owned.name, owned.node.epoch);
  const uint64_t bytes = BytesOf(owned, sample);
  if (is_ready && bytes <= ExtentId::kBytes && bytes <= asker.room_bytes) {
    owned.node.pool->Read(sample, owned.node.epoch);
  } else {
    AskForBytes(owned, sample);
  }
  return sample;
}

void PeersSimulation::AskForBytes(const Owned& owned, SampleId sample) {
  const uint64_t bytes = BytesOf(owned, sample);
  owned.node.pool->Read(sample, owned.node.epoch);
  // Else no memory ever has it, and its reader reads the source.
  if (bytes <= input_.memory_bytes) {
    traffic_.byte_requests += (bytes + ExtentId::kBytes - 1) / ExtentId::kBytes;
  }
}

void PeersSimulation::AskAhead(const Permutation& order, uint32_t node,
                               uint64_t next) {
  Node& asker = nodes_[node];
  const uint64_t most = options_.names_ahead;
  asker.asked = std::max(asker.asked, next);
  if (most < 2 || asker.asked - next > most / 2) return;
  std::vector<std::vector<uint64_t>> questions(options_.nodes);
  for (; asker.asked < next + most; ++asker.asked) {
    const uint64_t place = asker.asked * options_.nodes + node;
    if (place >= order.size()) break;
    const uint64_t name = order(place);
    const uint32_t owner = shares_.OwnerOf(shares_.PartnerOf(SampleId(name)));
    if (owner != node) questions[owner].push_back(name);
  }
  for (const std::vector<uint64_t>& names : questions) Ask(asker, names);
}

void PeersSimulation::Ask(Node& asker, const std::vector<uint64_t>& names) {
  if (names.empty()) return;
  ++traffic_.name_requests;
  uint64_t room = std::min(
      {kMostCarried, names.size() * 2 * mean_bytes_, asker.room_bytes});
  for (const uint64_t name : names) {
    const Owned owned = OwnerOf(name);
    if (!owned.node.pool->IsReady(owned.name)) continue;
    Known known;
    known.sample = owned.node.pool->Open(owned.name, owned.node.epoch);
    const uint64_t bytes = BytesOf(owned, known.sample);
    if (bytes <= room && bytes <= ExtentId::kBytes) {
      known.is_here = true;
      owned.node.pool->Read(known.sample, owned.node.epoch);
      room -= bytes;
      asker.room_bytes -= bytes;
    }
    known_[name] = known;
  }
}

}  // namespace shufflefs
