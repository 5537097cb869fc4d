// SPDX-License-Identifier: Apache-2.0
// Several nodes bind the names of one view together: what holds if all answer.
#include "core/binding/nodes/shared_names.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/binder_fixture.h"
#include "tests/policies/shared_nodes.h"

namespace shufflefs {
namespace {

using testing_support::BinderData;
using testing_support::Binding;
using testing_support::MakeBinderData;
using testing_support::Node;
using testing_support::Nodes;
using testing_support::Shuffled;

std::unique_ptr<BinderData> RandomData(Rng& rng) {
  std::vector<uint32_t> sizes(1 + rng.Bounded(6));
  for (uint32_t& size : sizes) {
    size = static_cast<uint32_t>(1 + rng.Bounded(rng.Bounded(2) ? 4 : 200));
  }
  return MakeBinderData(sizes, 16 + rng.Bounded(200),
                        static_cast<uint32_t>(1 + rng.Bounded(30)),
                        rng.Bounded(2) == 0);
}

struct Shown {
  const char* name;
  Binding binding;
  double locality;
};

class SharedNamesOfBinding : public ::testing::TestWithParam<Shown> {};

INSTANTIATE_TEST_SUITE_P(
    Brand, SharedNamesOfBinding,
    ::testing::Values(Shown{"group", Binding::kGroup, 0},
                      Shown{"location", Binding::kLocation, 0},
                      Shown{"group_half_local", Binding::kGroup, 0.5},
                      Shown{"group_local", Binding::kGroup, 1},
                      Shown{"location_local", Binding::kLocation, 1}),
    [](const auto& info) { return info.param.name; });

// Whoever asks, in whatever order, and however often: over all nodes names and
// samples are one to one, within groups, in each epoch, and what is retained
// keeps its sample.
TEST_P(SharedNamesOfBinding, OverAllNodesEachSampleComesOnce) {
  const uint64_t seed = 11;
  const bool keeps = GetParam().locality == 0;  // what is passed is not kept
  for (uint64_t round = 0; round < (keeps ? 60u : 20u); ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round));
    Rng rng(RandomKey(seed + round));
    const auto data = RandomData(rng);
    const uint64_t count = data->grouping.sample_count();
    Nodes nodes(*data, static_cast<uint32_t>(1 + rng.Bounded(7)),
                GetParam().binding, GetParam().locality);
    std::vector<NameBinding> known;
    for (uint64_t s = 0; s < count; ++s) {  // as after names showed themselves
      if (rng.Bounded(20) == 0) known.push_back({s, s});
    }
    std::map<uint64_t, uint64_t> retained;
    for (const NameBinding& pair : known) retained[pair.name] = pair.sample;
    std::vector<uint64_t> kept;
    for (uint64_t epoch = 1; epoch < 5; ++epoch) {
      nodes.Begin(epoch, known, kept);
      std::map<uint64_t, uint64_t> shown;
      std::set<uint64_t> samples;
      for (const uint64_t name : Shuffled(count, rng)) {
        const auto node = static_cast<uint32_t>(rng.Bounded(nodes.size()));
        // What is not read stays in memory until the next epoch.
        const uint64_t sample =
            rng.Bounded(4) > 0 ? nodes.Read(node, name) : nodes.Ask(node, name);
        EXPECT_EQ(data->grouping.group_of(SampleId(sample)),
                  data->grouping.group_of(SampleId(name)));
        EXPECT_TRUE(samples.insert(sample).second) << "sample " << sample;
        shown[name] = sample;
        const auto other = static_cast<uint32_t>(rng.Bounded(nodes.size()));
        EXPECT_EQ(nodes.Ask(other, name), sample);
      }
      ASSERT_EQ(samples.size(), count);
      for (const auto& [name, sample] : retained) {
        EXPECT_EQ(shown[name], sample) << "carried name " << name;
      }
      // The pairs that all know are so as long as their names are kept.
      std::erase_if(known, [&](const NameBinding&) { return rng.Bounded(2); });
      kept.clear();
      retained.clear();
      for (const NameBinding& pair : known) retained[pair.name] = pair.sample;
      const std::map<uint64_t, uint64_t> first = retained;
      for (uint64_t name = 0; name < count; ++name) {
        // Others that the first epoch knew stay known, or are not kept.
        if (keeps && epoch > 1 && rng.Bounded(10) == 0 &&
            first.count(name) == 0) {
          kept.push_back(name);
          retained[name] = shown[name];
        }
      }
      if (epoch == 1) known.clear(), retained.clear();
    }
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(nodes[i].names->Warning(), "");
      EXPECT_EQ(nodes[i].pool->shares_taken(), 2) << "memory was dropped";
    }
  }
}

// Each chunk leaves the source once: what the nodes read are disjoint sets.
TEST(SharedNamesTest, EachSampleIsReadByItsOwner) {
  const auto data = MakeBinderData({90, 41, 7, 200}, 60, 8, true);
  Nodes nodes(*data, 4);
  nodes.Begin(1);
  std::set<uint64_t> all;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (const uint64_t sample : nodes[i].pool->Fetches()) {
      EXPECT_TRUE(all.insert(sample).second) << "read twice: " << sample;
      for (uint32_t j = 0; j < nodes.size(); ++j) {
        const auto holder = nodes[j].names->HolderOf(SampleId(sample));
        EXPECT_EQ(holder->member, nodes[i].name);
        EXPECT_EQ(holder->self, i == j);
      }
    }
  }
  EXPECT_EQ(all.size(), data->grouping.sample_count());
}

TEST(SharedNamesTest, NoNodeHoldsWhatIsLargerThanMemory) {
  const auto data = MakeBinderData({60}, 60, 8, true);
  data->input.bytes[7] = data->input.memory_bytes + 1;
  Nodes nodes(*data, 2);
  nodes.Begin(1);
  EXPECT_FALSE(nodes[0].names->HolderOf(SampleId(7)));
  EXPECT_TRUE(nodes[0].names->HolderOf(SampleId(8)));
  std::set<uint64_t> samples;
  for (uint64_t name = 0; name < 60; ++name) {
    samples.insert(nodes.Ask(name % 2, name));
  }
  EXPECT_EQ(samples.size(), 60u);
}

// A node is asked by the same chance for each of its samples, and over many
// epochs each sample is shown by each node alike: chi-square, 3 degrees of
// freedom a sample, so its mean is 3.
TEST(SharedNamesTest, EveryNodeShowsEverySampleAlike) {
  const auto data = MakeBinderData({64, 100}, 64, 8, true);
  const uint64_t count = data->grouping.sample_count();
  Nodes nodes(*data, 4);
  std::vector<std::vector<int>> times(count, std::vector<int>(4));
  Rng rng(RandomKey(5));
  constexpr int kEpochs = 200;
  for (uint64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    nodes.Begin(epoch);
    const std::vector<uint64_t> order = Shuffled(count, rng);
    for (uint64_t i = 0; i < count; ++i) {
      ++times[nodes.Ask(i % 4, order[i])][i % 4];
    }
  }
  double sum = 0;
  for (const std::vector<int>& each : times) {
    for (const int n : each) {
      const double off = n - kEpochs / 4.0;
      sum += off * off / (kEpochs / 4.0);
    }
  }
  // Mean 3 a sample, variance 6: five standard deviations of the mean.
  EXPECT_NEAR(sum / static_cast<double>(count), 3.0,
              5 * std::sqrt(6.0 / static_cast<double>(count)));
}

TEST(NodeSharesTest, SharesAreEqualAndNamesFollowSamples) {
  const auto data = MakeBinderData({300, 5, 1, 64}, 60, 8, true);
  for (const uint32_t nodes : {1u, 2u, 3u, 4u, 50u, 1000u}) {
    const NodeShares shares(data->grouping, data->input.chunks, 42, nodes);
    std::vector<int> samples(nodes), names(nodes);
    std::set<uint64_t> partners;
    for (uint64_t s = 0; s < data->grouping.sample_count(); ++s) {
      ++samples[shares.OwnerOf(SampleId(s))];
      const SampleId partner = shares.PartnerOf(SampleId(s));
      ++names[shares.OwnerOf(partner)];
      partners.insert(partner.value());
      EXPECT_EQ(shares.NameOf(partner), SampleId(s));
      EXPECT_EQ(data->grouping.group_of(partner),
                data->grouping.group_of(SampleId(s)));
    }
    EXPECT_EQ(partners.size(), data->grouping.sample_count());
    EXPECT_EQ(samples, names);
    const auto [least, most] =
        std::minmax_element(samples.begin(), samples.end());
    EXPECT_LE(*most - *least, 9) << "a chunk, and one that is not full";
    EXPECT_EQ(shares.CountOf(0), static_cast<uint64_t>(samples[0]));
  }
}

// Nodes with different versions would find different owners.
TEST(NodeSharesTest, GoldenOwners) {
  const auto data = MakeBinderData({12, 4}, 60, 4, false);
  const NodeShares shares(data->grouping, data->input.chunks, 42, 3);
  std::vector<uint32_t> owners, partners;
  for (uint64_t s = 0; s < 16; ++s) {
    owners.push_back(shares.OwnerOf(SampleId(s)));
    partners.push_back(
        static_cast<uint32_t>(shares.PartnerOf(SampleId(s)).value()));
  }
  EXPECT_THAT(owners, ::testing::ElementsAre(1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                                             2, 2, 2, 2));
  EXPECT_THAT(partners, ::testing::ElementsAre(1, 11, 7, 3, 2, 5, 6, 8, 0, 9, 4,
                                               10, 12, 15, 13, 14));
}

}  // namespace
}  // namespace shufflefs
