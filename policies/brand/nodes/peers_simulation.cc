// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/nodes/peers_simulation.h"

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
      shares_(std::make_shared<const NodeShares>(
          *input.grouping, input.chunks, input.dataset_key, options.nodes)),
      own_number_(input.bytes.size()),
      nodes_(options.nodes) {
  for (uint64_t s = 0; s < own_number_.size(); ++s) {
    std::vector<uint32_t>& samples =
        nodes_[shares_->OwnerOf(SampleId(s))].samples;
    own_number_[s] = static_cast<uint32_t>(samples.size());
    samples.push_back(static_cast<uint32_t>(s));
  }
  for (const std::vector<uint32_t>& chunk : input.chunks) {
    if (chunk.empty()) continue;
    std::vector<uint32_t> own;
    for (const uint32_t s : chunk) own.push_back(own_number_[s]);
    nodes_[shares_->OwnerOf(SampleId(chunk.front()))].input.chunks.push_back(
        std::move(own));
  }
  for (uint32_t i = 0; i < options_.nodes; ++i) {
    Make(nodes_[i]);
    nodes_[i].counts =
        std::make_shared<const std::vector<uint32_t>>(shares_->CountsOf(i));
  }
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
  for (uint32_t i = 0; i < options_.nodes; ++i) {
    Node& node = nodes_[i];
    before += node.pool->read_bytes();
    node.passed = NamesOf(i, Mix64(seed.value() ^ epoch.value()));
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

PassedNames PeersSimulation::NamesOf(uint32_t node, uint64_t binding) const {
  return PassedNames({.grouping = input_.grouping,
                      .nodes = shares_,
                      .own_counts = nodes_[node].counts,
                      .self = node,
                      .binding = binding,
                      .locality = options_.locality,
                      .is_bound = [this, node](SampleId place) {
                        const SampleId own(own_number_[place.value()]);
                        return nodes_[node].binder->Bound(own).has_value();
                      }});
}

SharedName PeersSimulation::Named(uint64_t name) const {
  const SampleId partner = shares_->PartnerOf(SampleId(name));
  return {SampleId(name), partner, shares_->OwnerOf(partner)};
}

absl::optional<PeersSimulation::Owned> PeersSimulation::PlaceAt(
    uint32_t node, const SharedName& name) {
  const absl::optional<SampleId> place = nodes_[node].passed.TakePlace(name);
  if (!place) return absl::nullopt;
  return Owned{nodes_[node], SampleId(own_number_[place->value()])};
}

PeersSimulation::Owned PeersSimulation::Place(uint32_t binder,
                                              const SharedName& name) {
  for (uint32_t node = binder;; node = (node + 1) % options_.nodes) {
    if (const auto place = PlaceAt(node, name)) {
      if (node != binder) {
        nodes_[node].passed.NoteLent(name.name);
        nodes_[binder].passed.NoteBorrowed(name.name);
      }
      return *place;
    }
    ++traffic_.name_requests;  // to the next one
  }
}

bool PeersSimulation::IsReady(const SharedName& name) {
  Node& owner = nodes_[name.owner];
  const absl::optional<SampleId> place = owner.passed.LikelyPlace(name);
  return place && owner.pool->IsReady(SampleId(own_number_[place->value()]));
}

bool PeersSimulation::Passes(uint32_t node, const SharedName& name) {
  PassedNames& passed = nodes_[node].passed;
  if (!passed.Want(name)) return false;
  passed.EndWant(name);
  if (!nodes_[name.owner].passed.Pass(name, node)) return false;
  passed.Took(name);
  return true;
}

void PeersSimulation::Read(const Permutation& order, uint32_t node,
                           uint64_t at) {
  const uint64_t name = order(at * options_.nodes + node);
  const SharedName named = Named(name);
  const bool known = known_.contains(name);
  const bool is_own = nodes_[node].passed.BinderOf(named) == node;
  if (!known && !is_own && Passes(node, named)) ++traffic_.name_requests;
  if (nodes_[node].passed.BinderOf(named) == node) {
    ReadOwn(node, Place(node, named));
  } else {
    ReadOfOther(node, named);
  }
  AskAhead(order, node, at + 1);
}

void PeersSimulation::ReadOwn(uint32_t node, const Owned& owned) {
  const SampleId sample = owned.node.pool->Open(owned.name, owned.node.epoch);
  traffic_.shown_by[owned.node.samples[sample.value()]] = node;
  if (&owned.node != &nodes_[node]) return AskForBytes(owned.node, sample);
  owned.node.pool->Read(sample, owned.node.epoch);
  ++traffic_.own;
}

void PeersSimulation::ReadOfOther(uint32_t node, const SharedName& name) {
  Node& asker = nodes_[node];
  const auto found = known_.find(name.name.value());
  if (found != known_.end()) {
    const Known known = found->second;
    Node& owner = nodes_[known.node];
    known_.erase(found);
    traffic_.shown_by[owner.samples[known.sample.value()]] = node;
    if (!known.is_here) return AskForBytes(owner, known.sample);
    asker.room_bytes += owner.input.bytes[known.sample.value()];
    return;
  }
  ++traffic_.name_requests;
  const bool is_ready = IsReady(name);
  const Owned owned = Place(name.owner, name);
  if (&owned.node == &asker) return ReadOwn(node, owned);
  const SampleId sample = owned.node.pool->Open(owned.name, owned.node.epoch);
  traffic_.shown_by[owned.node.samples[sample.value()]] = node;
  const uint64_t bytes = owned.node.input.bytes[sample.value()];
  if (is_ready && bytes <= ExtentId::kBytes && bytes <= asker.room_bytes) {
    owned.node.pool->Read(sample, owned.node.epoch);
  } else {
    AskForBytes(owned.node, sample);
  }
}

void PeersSimulation::AskForBytes(Node& owner, SampleId sample) {
  const uint64_t bytes = owner.input.bytes[sample.value()];
  owner.pool->Read(sample, owner.epoch);
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
    const SharedName named = Named(name);
    if (asker.passed.BinderOf(named) != node) {
      questions[named.owner].push_back(name);
    }
  }
  for (const std::vector<uint64_t>& names : questions) Ask(node, names);
}

void PeersSimulation::Ask(uint32_t node, const std::vector<uint64_t>& names) {
  if (names.empty()) return;
  ++traffic_.name_requests;
  Node& asker = nodes_[node];
  uint64_t room = std::min(
      {kMostCarried, names.size() * 2 * mean_bytes_, asker.room_bytes});
  for (const uint64_t name : names) {
    const SharedName named = Named(name);
    if (Passes(node, named) || !IsReady(named)) continue;
    const absl::optional<Owned> owned = PlaceAt(named.owner, named);
    if (!owned) continue;
    Known known{
        .node = named.owner,
        .sample = owned->node.pool->Open(owned->name, owned->node.epoch)};
    const uint64_t bytes = owned->node.input.bytes[known.sample.value()];
    if (bytes <= room && bytes <= ExtentId::kBytes) {
      known.is_here = true;
      owned->node.pool->Read(known.sample, owned->node.epoch);
      room -= bytes;
      asker.room_bytes -= bytes;
    }
    known_[name] = known;
  }
}

}  // namespace shufflefs
