// SPDX-License-Identifier: Apache-2.0
// The paper's protocol over several nodes: each has the locations of the chunks
// that it owns, and names keep to their locations.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/brand/location_binder.h"
#include "tests/policies/binder_fixture.h"
#include "tests/policies/shared_nodes.h"

namespace shufflefs::testing_support {
namespace {

std::unique_ptr<BinderData> RandomData(Rng& rng) {
  std::vector<uint32_t> sizes(1 + rng.Bounded(6));
  for (uint32_t& size : sizes) {
    size = static_cast<uint32_t>(1 + rng.Bounded(rng.Bounded(2) ? 4 : 150));
  }
  const uint64_t memory = 8 + rng.Bounded(100);
  const auto chunk = static_cast<uint32_t>(1 + rng.Bounded(20));
  auto data = MakeBinderData(sizes, memory, chunk, rng.Bounded(2) == 0);
  for (uint64_t& bytes : data->input.bytes) bytes = 500 + rng.Bounded(1500);
  return data;
}

std::vector<SampleId> Some(const std::vector<uint64_t>& names, Rng& rng) {
  std::vector<SampleId> some;
  for (uint64_t i = rng.Bounded(40); i > 0; --i) {
    some.emplace_back(names[rng.Bounded(names.size())]);
  }
  return some;
}

// Readers of several nodes, and what happens to these, one thing at a time.
class Job {
 public:
  Job(const BinderData& data, uint32_t nodes, Rng& rng)
      : data_(data), rng_(rng), nodes_(data, nodes, Binding::kLocation) {}

  // `away`: a node does not answer from some point on.
  void RunEpoch(uint64_t epoch, bool away) {
    std::vector<NameBinding> known;
    for (uint64_t s = 0; s < Count(); ++s) {
      if (rng_.Bounded(15) == 0) known.push_back({s, s});
    }
    nodes_.Begin(epoch, known);
    known_ = std::move(known);
    epoch_ = epoch;
    shown_.clear();
    const std::vector<uint64_t> order = Shuffled(Count(), rng_);
    for (size_t at = 0; at < order.size(); ++at) {
      const uint32_t node = AnyNode();
      if (rng_.Bounded(10) == 0) {
        nodes_[node].names->AskAhead(Some(order, rng_));
      }
      if (!away && rng_.Bounded(Count()) == 0) Restart(AnyNode());
      if (away && at == order.size() / 2) nodes_.down = nodes_[0].name;
      Look(nodes_.down.empty() ? node : std::max(node, 1u), order[at]);
    }
  }
  const std::map<uint64_t, uint64_t>& shown() const { return shown_; }
  uint64_t Count() const { return data_.grouping.sample_count(); }
  Nodes& nodes() { return nodes_; }

 private:
  uint32_t AnyNode() {
    return static_cast<uint32_t>(rng_.Bounded(nodes_.size()));
  }

  void Look(uint32_t node, uint64_t name) {
    // A sample of a node that is away may be shown by a second name.
    const bool reads = nodes_.down.empty() && rng_.Bounded(5) > 0;
    const uint64_t sample =
        reads ? nodes_.Read(node, name)
              : nodes_[node].names->Bind(SampleId(name)).value();
    EXPECT_EQ(data_.grouping.group_of(SampleId(sample)),
              data_.grouping.group_of(SampleId(name)));
    shown_[name] = sample;
  }

  // With its ledger, and what others were told.
  void Restart(uint32_t at) {
    Node& node = nodes_[at];
    std::vector<NameBinding> bound = node.names->KnownPairs();
    nodes_.Start(node);
    NameSharing sharing = nodes_.Sharing(at, epoch_ + 100, nodes_.size());
    sharing.known = known_;
    node.names->BeginEpoch(Seed(3), Epoch(epoch_), sharing, bound);
  }

  const BinderData& data_;
  Rng& rng_;
  Nodes nodes_;
  std::vector<NameBinding> known_;
  std::map<uint64_t, uint64_t> shown_;
  uint64_t epoch_ = 0;
};

std::set<uint64_t> SamplesOf(const std::map<uint64_t, uint64_t>& shown) {
  std::set<uint64_t> samples;
  for (const auto& [name, sample] : shown) samples.insert(sample);
  return samples;
}

TEST(LocationNodes, EachSampleComesOnceWhateverHappens) {
  const uint64_t seed = 23;
  for (uint64_t round = 0; round < 150 && !testing::Test::HasFailure();
       ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round));
    Rng rng(RandomKey(seed + round));
    const auto data = RandomData(rng);
    Job job(*data, static_cast<uint32_t>(2 + rng.Bounded(5)), rng);
    for (uint64_t epoch = 1; epoch < 4; ++epoch) {
      job.RunEpoch(epoch, /*away=*/false);
      EXPECT_EQ(SamplesOf(job.shown()).size(), job.Count());
      for (uint32_t i = 0; i < job.nodes().size(); ++i) {
        EXPECT_EQ(job.nodes()[i].names->Warning(), "");
      }
    }
  }
}

// Only its names may show what was shown before.
TEST(LocationNodes, ANodeThatIsAwayCostsItsNamesOnly) {
  Rng rng(RandomKey(31));
  const auto data = MakeBinderData({150, 40}, 30, 8, true);
  Job job(*data, 3, rng);
  job.RunEpoch(1, /*away=*/true);
  const uint64_t twice = job.Count() - SamplesOf(job.shown()).size();
  uint64_t own = 0;
  for (const auto& [name, sample] : job.shown()) own += name == sample;
  EXPECT_LE(twice, own);
  for (uint32_t i = 1; i < job.nodes().size(); ++i) {
    EXPECT_THAT(job.nodes()[i].names->Warning(),
                HasSubstr("samples may come twice"));
  }
}

// "Each location has an owner, which alone reads the chunks behind it."
TEST(LocationNodes, OnlyTheOwnerLoadsAChunk) {
  const auto data = MakeBinderData({300, 90}, 40, 12, true);
  Nodes nodes(*data, 3, Binding::kLocation);
  Rng rng(RandomKey(3));
  for (uint64_t epoch = 1; epoch < 3; ++epoch) {
    nodes.Begin(epoch);
    for (const uint64_t name : Shuffled(390, rng)) {
      nodes.Read(static_cast<uint32_t>(rng.Bounded(3)), name);
    }
  }
  std::set<uint64_t> all;
  for (uint32_t i = 0; i < 3; ++i) {
    for (const uint64_t sample : nodes[i].pool->loaded()) {
      EXPECT_TRUE(nodes[i].names->HolderOf(SampleId(sample))->self);
      EXPECT_TRUE(all.insert(sample).second);
    }
  }
  EXPECT_EQ(all.size(), 390u);
}

// The memories of all nodes are one abstract memory: chunks are loaded as often
// as one node with so much memory loads them, also after names were retained.
TEST(LocationNodes, CostAsManyMissesAsOneNodeWithAllMemory) {
  constexpr uint32_t kNodes = 3;
  const auto misses = [](uint32_t nodes, uint64_t memory, bool retained) {
    const auto data = MakeBinderData({6000, 300}, memory, 32, true);
    Nodes job(*data, nodes, Binding::kLocation);
    Rng rng(RandomKey(17));
    std::vector<NameBinding> known;
    for (uint64_t s = 0; s < 6300 && retained; s += 7) known.push_back({s, s});
    uint64_t sum = 0;
    for (uint64_t epoch = 1; epoch < 4; ++epoch) {
      job.Begin(epoch, known);
      uint64_t i = 0;
      for (const uint64_t name : Shuffled(6300, rng)) {
        job.Read(static_cast<uint32_t>(i++ % nodes), name);
      }
    }
    for (uint32_t n = 0; n < nodes; ++n) sum += job[n].pool->counts().misses;
    return static_cast<double>(sum);
  };
  for (const bool retained : {false, true}) {
    const double one = misses(1, 900, retained);
    EXPECT_NEAR(misses(kNodes, 900 / kNodes, retained), one, 0.08 * one);
  }
}

// What the paper's owner checks before it sends: it sends what it holds, and
// that is consumed.
TEST(LocationNodes, OnlyWhatALocationHoldsIsBoundAhead) {
  const auto data = MakeBinderData({400}, 100, 10, true);
  Nodes nodes(*data, 2, Binding::kLocation);
  nodes.Begin(1);
  std::vector<SampleId> all;
  for (uint64_t name = 0; name < 400; ++name) all.emplace_back(name);
  nodes[0].names->AskAhead(all);
  EXPECT_TRUE(nodes[0].names->is_fresh());
  EXPECT_TRUE(nodes[1].names->is_fresh());
  // One miss loads a chunk of ten: nine locations hold something.
  uint64_t name = 0;
  while (nodes[1].pool->counts().misses == 0) nodes.Read(1, name++);
  const uint64_t known = nodes[0].names->KnownPairs().size();
  nodes[0].names->AskAhead(all);
  // Those, and the one that the miss has bound.
  EXPECT_EQ(nodes[0].names->KnownPairs().size(), known + 10);
  const BinderCounts counts = nodes[1].pool->counts();
  EXPECT_EQ(counts.misses, 1u);
  EXPECT_EQ(counts.hits, 9u);
  // Now they are empty again.
  nodes[0].names->AskAhead(all);
  EXPECT_EQ(nodes[0].names->KnownPairs().size(), known + 10);
}

size_t LongestColumn(const LocationMap& map) {
  size_t longest = 0;
  for (uint32_t l = 0; l < map.location_count(); ++l) {
    longest = std::max(longest, map.column(l).size());
  }
  return longest;
}

// Each node divides its own memory among the locations of its own chunks.
TEST(LocationNodes, LocationsFitIntoTheMemoryOfTheirNode) {
  const auto data = MakeBinderData({700, 100}, 60, 16, true);
  const NodeShares shares(data->grouping, data->input.chunks, 42, 4);
  const LocationBinder whole(data->input);
  for (uint32_t node = 0; node < 4; ++node) {
    BinderInput input = data->input;
    std::erase_if(input.chunks, [&](const std::vector<uint32_t>& chunk) {
      return shares.OwnerOf(SampleId(chunk.front())) != node;
    });
    const LocationBinder binder(input);
    const LocationMap& map = binder.map();
    EXPECT_LE(map.location_count(), 60u);
    EXPECT_LT(LongestColumn(map), LongestColumn(whole.map()));
    uint64_t samples = 0;
    for (uint32_t l = 0; l < map.location_count(); ++l) {
      EXPECT_TRUE(map.has_memory(l));
      samples += map.column(l).size();
      for (const uint32_t sample : map.column(l)) {
        EXPECT_EQ(shares.OwnerOf(SampleId(sample)), node);
      }
    }
    EXPECT_EQ(samples, shares.CountOf(node));
    for (uint32_t s = 0; s < 800; ++s) {
      EXPECT_EQ(map.has(s), shares.OwnerOf(SampleId(s)) == node);
    }
  }
}

TEST(LocationNodes, ANodeMayOwnNothing) {
  const auto data = MakeBinderData({20}, 10, 5, true);
  BinderInput input = data->input;
  input.chunks.clear();
  LocationBinder binder(input);
  binder.BeginEpoch(Seed(1), Epoch(1), {});
  EXPECT_FALSE(binder.IsReady(SampleId(3)));
  EXPECT_TRUE(binder.FetchChunkOf(SampleId(3), 1 << 20).empty());
  EXPECT_EQ(binder.Bind(SampleId(3)), SampleId(3));
}

// As Binder::ForShare says: any names of the group, as many as it has samples.
TEST(LocationNodes, AShareAnswersAnyNameOfItsGroups) {
  const auto data = MakeBinderData({100, 20}, 30, 6, true);
  BinderInput input = data->input;
  input.chunks.resize(4);
  std::map<uint32_t, uint64_t> samples;  // by group
  for (const auto& chunk : input.chunks) {
    for (const uint32_t s : chunk) {
      ++samples[data->grouping.group_of(SampleId(s)).value()];
    }
  }
  CheckedBinder binder(input, LocationBinder(data->input).ForShare(input));
  for (uint64_t epoch = 1; epoch < 3; ++epoch) {
    binder.BeginEpoch(Epoch(epoch), {});
    for (const auto& [group, count] : samples) {
      const uint64_t first = data->grouping.group(GroupId(group)).first_sample;
      for (uint64_t i = 0; i < count; ++i) {
        const uint32_t s = binder.Bind(static_cast<uint32_t>(first + i));
        EXPECT_TRUE(binder.alone(s) || binder.held(s) ||
                    !binder.FetchChunkOf(s, binder.room()).empty());
      }
    }
    binder.ExpectBijection();
  }
}

}  // namespace
}  // namespace shufflefs::testing_support
