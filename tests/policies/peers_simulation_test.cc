// SPDX-License-Identifier: Apache-2.0
// What shared names cost over nodes, and which node shows a sample. The
// simulation is compared with the real SharedNames over a network that is only
// function calls.
#include "policies/brand/nodes/peers_simulation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/binding/nodes/shared_names.h"
#include "core/random/permutation.h"
#include "gtest/gtest.h"
#include "policies/auto/pool_simulation.h"
#include "tests/policies/binder_fixture.h"
#include "tests/policies/shared_nodes.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using testing_support::BinderData;
using testing_support::Binding;
using testing_support::BrandNames;
using testing_support::MakeBinder;
using testing_support::MakeBinderData;
using testing_support::Rounds;

constexpr Seed kSeed{7};

// The pool of a node, as numbers.
class NumberPool : public BrandNames {
 public:
  NumberPool(const BinderInput& input, Binding binding)
      : BrandNames(input), binder_(MakeBinder(binding, input_)) {}

  void TakeShare(const std::vector<uint32_t>& chunks) override {
    std::unique_ptr<BinderInput> share = ShareOf(chunks);
    binder_ = binder_->ForShare(*share);
    share_ = std::move(share);
    pool_ = std::make_unique<PoolSimulation>(*share_, *binder_);
  }
  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const NameBinding> bound) override {
    binder_->BeginEpoch(seed, epoch, bound);
  }
  SampleId Bind(SampleId name) override {
    if (const auto sample = binder_->Bound(name)) return *sample;
    return pool_->Open(name, epoch_);
  }
  bool IsReady(SampleId name) const override { return pool_->IsReady(name); }
  absl::optional<SampleId> Bound(SampleId name) const override {
    return binder_->Bound(name);
  }
  absl::optional<SampleId> NameOf(SampleId sample) const override {
    return binder_->NameOf(sample);
  }

  void Read(uint64_t sample) { pool_->Read(SampleId(sample), epoch_); }
  uint64_t read_bytes() const { return pool_->read_bytes(); }

 private:
  std::unique_ptr<BinderInput> share_;
  std::unique_ptr<Binder> binder_;
  std::unique_ptr<PoolSimulation> pool_;
  SimulatedEpoch epoch_;
};

// Nodes with the real SharedNames. An answer brings what was in memory when it
// was asked for, as far as the asker has room.
class NodesOfNames {
 public:
  NodesOfNames(const BinderData& data, const PeersSimulation::Options& options)
      : data_(data),
        options_(options),
        shares_(data.grouping, data.input.chunks, data.input.dataset_key,
                options.nodes),
        nodes_(options.nodes) {
    for (uint32_t i = 0; i < options.nodes; ++i) Start(i);
  }

  PeersTraffic Run(Epoch epoch) {
    traffic_ = {};
    traffic_.shown_by.resize(Samples());
    here_.clear();
    Begin(epoch);
    const uint64_t before = ReadBytes();
    const Permutation order(
        Samples(),
        DeriveKey(kSeed, epoch, data_.input.dataset_key, Purpose::kMeasure));
    for (uint64_t i = 0; i < Samples(); ++i) Read(order, i);
    traffic_.source_bytes = ReadBytes() - before;
    return traffic_;
  }

 private:
  struct Node {
    std::string name;
    std::shared_ptr<NumberPool> pool;
    std::shared_ptr<SharedNames> names;
    uint64_t asked = 0;
    uint64_t room = 0;
  };

  uint64_t Samples() const { return data_.grouping.sample_count(); }
  uint64_t ReadBytes() const {
    uint64_t sum = 0;
    for (const Node& node : nodes_) sum += node.pool->read_bytes();
    return sum;
  }
  Node& At(const std::string& name) {
    return *std::find_if(nodes_.begin(), nodes_.end(),
                         [&](const Node& node) { return node.name == name; });
  }

  void Start(uint32_t i) {
    Node& node = nodes_[i];
    node.name = absl::StrCat("node", i);
    node.pool = std::make_shared<NumberPool>(data_.input, options_.binding);
    SharedNames::Parts parts;
    parts.grouping = &data_.grouping;
    parts.dataset_key = data_.input.dataset_key;
    parts.own = node.pool;
    parts.locality = options_.locality;
    parts.ask = [this, &node](const SharedNames::Question& question,
                              std::chrono::milliseconds /*within*/,
                              SharedNames::Answer answer) {
      ++traffic_.name_requests;
      answer(AnswerTo(node, question));
    };
    node.names = std::make_shared<SharedNames>(std::move(parts));
  }

  absl::StatusOr<std::vector<uint64_t>> AnswerTo(
      Node& asker, const SharedNames::Question& question) {
    Node& owner = At(question.owner);
    // A sample that a waiting asker gets by a miss is not in memory yet.
    const bool ahead = question.purpose == NamePurpose::kAhead;
    const bool is_held =
        ahead || (question.purpose == NamePurpose::kBind &&
                  owner.pool->IsReady(shares_.PartnerOf(
                      SampleId(question.names.front()))));
    auto samples = owner.names->BindForOthers(question);
    uint64_t room =
        ahead
            ? std::min(asker.room, question.names.size() * 2 * MeanBytes())
            : asker.room;
    for (const uint64_t sample : *samples) {
      if (sample >= SharedNames::kBoundBy || !is_held ||
          !owner.names->HolderOf(SampleId(sample))->self) {
        continue;
      }
      const uint64_t bytes = data_.input.bytes[sample];
      if (bytes > room) continue;
      room -= bytes;
      asker.room -= bytes;
      here_.insert(sample);
      owner.pool->Read(sample);
    }
    return samples;
  }
  uint64_t MeanBytes() const { return data_.input.bytes.front() + 1; }

  void Begin(Epoch epoch) {
    NameSharing sharing;
    for (const Node& node : nodes_) sharing.members.push_back(node.name);
    sharing.binding = epoch.value() + 1;
    for (Node& node : nodes_) {
      sharing.self = node.name;
      node.names->BeginEpoch(kSeed, epoch, sharing, {});
      node.asked = 0;
      node.room = options_.room_bytes;
    }
  }

  void Read(const Permutation& order, uint64_t i) {
    const auto number = static_cast<uint32_t>(i % options_.nodes);
    Node& node = nodes_[number];
    const uint64_t sample = node.names->Bind(SampleId(order(i))).value();
    const auto holder = node.names->HolderOf(SampleId(sample));
    traffic_.shown_by[sample] = number;
    traffic_.own += holder->self ? 1 : 0;
    if (here_.erase(sample) > 0) {
      node.room += data_.input.bytes[sample];
    } else {
      At(holder->member).pool->Read(sample);
      traffic_.byte_requests += holder->self ? 0 : 1;
    }
    AskAhead(order, number, i / options_.nodes + 1);
  }

  // As NamePredictor::Predict.
  void AskAhead(const Permutation& order, uint32_t number, uint64_t next) {
    Node& node = nodes_[number];
    if (node.asked > next + options_.names_ahead / 2) return;
    std::vector<SampleId> names;
    for (uint64_t at = std::max(node.asked, next);
         at < next + options_.names_ahead; ++at) {
      node.asked = at + 1;
      const uint64_t place = at * options_.nodes + number;
      if (place < Samples()) names.emplace_back(order(place));
    }
    if (!names.empty()) node.names->AskAhead(names);
  }

  const BinderData& data_;
  const PeersSimulation::Options options_;
  const NodeShares shares_;
  std::vector<Node> nodes_;
  absl::flat_hash_set<uint64_t> here_;  // samples that came with answers
  PeersTraffic traffic_;
};

void ExpectNear(uint64_t simulated, uint64_t real, double part,
                const std::string& what) {
  EXPECT_NEAR(static_cast<double>(simulated), static_cast<double>(real),
              part * static_cast<double>(real) + 20)
      << what;
}

// The simulation has other numbers for samples, so other samples come first.
TEST(PeersSimulationTest, CostsWhatSharedNamesCost) {
  const PeersSimulation::Options some{.nodes = 4, .room_bytes = 40 * 1000};
  struct Case {
    std::vector<uint32_t> groups;
    uint64_t memory;  // of a node, in samples
    bool mixed;
    PeersSimulation::Options options;
  };
  const Case cases[] = {
      {{4000}, 400, true, some},
      {std::vector<uint32_t>(40, 100), 400, true, some},
      {std::vector<uint32_t>(40, 100), 400, false, some},
      {std::vector<uint32_t>(40, 100), 1200, true, some},
      {std::vector<uint32_t>(40, 100), 300, true, {.nodes = 3}},
      {{4000}, 400, true, {.nodes = 4, .names_ahead = 0, .room_bytes = 40000}},
      {{4000}, 400, true, {.nodes = 4, .binding = Binding::kLocation}},
      {std::vector<uint32_t>(40, 100),
       400,
       true,
       {.nodes = 4, .room_bytes = 40000, .binding = Binding::kLocation}},
      {{4000}, 400, true, {.nodes = 4, .room_bytes = 40000, .locality = 0.5}},
      {std::vector<uint32_t>(40, 100),
       400,
       true,
       {.nodes = 4, .room_bytes = 40000, .locality = 1}},
  };
  for (const Case& each : cases) {
    const auto data = MakeBinderData(each.groups, each.memory, 32, each.mixed);
    NodesOfNames network(*data, each.options);
    PeersSimulation simulation(data->input, each.options);
    for (const uint64_t epoch : {0, 1, 2}) {
      const PeersTraffic real = network.Run(Epoch(epoch));
      const PeersTraffic found = simulation.Run(kSeed, Epoch(epoch));
      const std::string what =
          absl::StrCat("case ", &each - cases, ", epoch ", epoch);
      ExpectNear(found.source_bytes, real.source_bytes, 0.02, what);
      ExpectNear(found.own, real.own, 0.02, what);
      if (each.options.locality > 0) {
        // Few, and the simulation asks for names one by one.
        EXPECT_NEAR(found.name_requests + found.byte_requests,
                    real.name_requests + real.byte_requests, 0.03 * 4000)
            << what;
        continue;
      }
      ExpectNear(found.name_requests, real.name_requests, 0.05, what);
      ExpectNear(found.byte_requests, real.byte_requests, 0.05, what);
    }
  }
}

TEST(PeersSimulationTest, MemoryOfAllReadsTheSourceOnce) {
  const auto data = MakeBinderData({2000, 2000}, 1300, 32, true);
  PeersSimulation simulation(data->input, {.nodes = 4, .room_bytes = 80000});
  EXPECT_EQ(simulation.Run(kSeed, Epoch(0)).source_bytes, 4000u * 1000);
  EXPECT_EQ(simulation.Run(kSeed, Epoch(1)).source_bytes, 0u);
}

TEST(PeersSimulationTest, AskingAheadSavesRequests) {
  const auto data = MakeBinderData({4000}, 400, 32, true);
  PeersSimulation ahead(data->input, {.nodes = 4, .room_bytes = 80000});
  PeersSimulation alone(data->input,
                        {.nodes = 4, .names_ahead = 0, .room_bytes = 80000});
  const auto requests = [](const PeersTraffic& traffic) {
    return traffic.name_requests + traffic.byte_requests;
  };
  // Three of four names are another node's.
  EXPECT_GE(requests(alone.Run(kSeed, Epoch(1))), 2900u);
  EXPECT_LT(requests(ahead.Run(kSeed, Epoch(1))), 2900u / 6);
}

TEST(PeersSimulationTest, OneNodeAsksNobody) {
  const auto data = MakeBinderData({500, 20}, 100, 32, true);
  PeersSimulation simulation(data->input, {.nodes = 1, .room_bytes = 1000});
  const PeersTraffic traffic = simulation.Run(kSeed, Epoch(0));
  EXPECT_EQ(traffic.own, 520u);
  EXPECT_EQ(traffic.name_requests + traffic.byte_requests, 0u);
  // With the beginning of the next epoch.
  EXPECT_GE(traffic.source_bytes, 520u * 1000);
  EXPECT_LE(traffic.source_bytes, 620u * 1000);
}

// Pearson's sum over all samples and nodes, and what chance would give.
struct ChiSquare {
  double sum = 0;
  double mean = 0;
  double deviation = 0;
};

template <typename Run>
ChiSquare ShownBy(uint64_t samples, uint32_t nodes, int epochs, Run run) {
  std::vector<std::vector<int>> times(samples, std::vector<int>(nodes));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const PeersTraffic traffic = run(Epoch(static_cast<uint64_t>(epoch)));
    for (uint64_t s = 0; s < samples; ++s) ++times[s][traffic.shown_by[s]];
  }
  ChiSquare found;
  const double expected = static_cast<double>(epochs) / nodes;
  for (const std::vector<int>& each : times) {
    for (const int n : each) {
      found.sum += (n - expected) * (n - expected) / expected;
    }
  }
  const double freedom = static_cast<double>(samples) * (nodes - 1);
  found.mean = freedom;
  found.deviation = std::sqrt(2 * freedom);
  return found;
}

// Over 200 epochs, with memory for a fifth and names asked for ahead, each node
// shows each sample alike: its owner no more often than others.
TEST(PeersSimulationTest, EveryNodeShowsEverySampleAlike) {
  const int epochs = Rounds(200, 40);
  const PeersSimulation::Options options{.nodes = 4, .room_bytes = 20000};
  const auto data = MakeBinderData({300, 100, 100}, 25, 8, true);
  const uint64_t samples = data->grouping.sample_count();
  RecordProperty("seed", std::to_string(kSeed.value()));
  NodesOfNames network(*data, options);
  uint64_t own = 0;
  const ChiSquare real =
      ShownBy(samples, options.nodes, epochs, [&](Epoch epoch) {
        PeersTraffic traffic = network.Run(epoch);
        own += traffic.own;
        return traffic;
      });
  std::printf("seed %d: chi-square %.0f, by chance %.0f +- %.0f\n",
              static_cast<int>(kSeed.value()), real.sum, real.mean,
              real.deviation);
  EXPECT_NEAR(real.sum, real.mean, 4 * real.deviation);
  const double shown = static_cast<double>(samples) * epochs;
  EXPECT_NEAR(static_cast<double>(own), shown / 4,
              4 * std::sqrt(shown * 3 / 16));
  PeersSimulation simulation(data->input, options);
  const ChiSquare simulated =
      ShownBy(samples, options.nodes, epochs,
              [&](Epoch epoch) { return simulation.Run(kSeed, epoch); });
  EXPECT_NEAR(simulated.sum, simulated.mean, 4 * simulated.deviation);
}

}  // namespace
}  // namespace shufflefs
