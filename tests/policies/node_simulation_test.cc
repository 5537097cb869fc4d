// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/nodes/node_simulation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using testing_support::BinderData;
using testing_support::MakeBinderData;
using Refill = LocationBinder::Refill;

// 300 chunks of 64 samples. The memory of all nodes holds a
// twelfth.
constexpr uint32_t kSamples = 19200;
constexpr uint32_t kMemory = kSamples / 12;

struct Figures {
  double misses = 0;  // a location, in the second epoch
  double requests = 0;
  uint64_t sent_ahead = 0;
};

// `ahead`: samples that a node keeps of what others send ahead.
Figures Measure(uint32_t nodes, uint64_t ahead = 0,
                Refill refill = Refill::kFillRate) {
  const auto data = MakeBinderData({kSamples}, kMemory, 64, true);
  const NodeSimulation::Options options = {
      .nodes = nodes,
      .refill = refill,
      .ahead_bytes = ahead * data->input.bytes[0]};
  NodeSimulation simulation(data->input, options);
  std::vector<uint64_t> all(kSamples);
  std::iota(all.begin(), all.end(), uint64_t{0});
  NodeTraffic traffic;
  for (const uint64_t epoch : {0, 1}) {
    traffic = simulation.Run(Seed(7), Epoch(epoch));
    std::sort(traffic.samples.begin(), traffic.samples.end());
    EXPECT_TRUE(traffic.samples == all) << "not each sample once";
  }
  const auto locations = static_cast<double>(traffic.locations);
  return {static_cast<double>(traffic.misses) / locations,
          static_cast<double>(traffic.requests) / locations,
          traffic.sent_ahead};
}

TEST(NodeSimulationTest, OneNodeAsksNobody) {
  const Figures one = Measure(1, 100);
  EXPECT_EQ(one.requests, 0);
  EXPECT_EQ(one.sent_ahead, 0);
  EXPECT_GT(one.misses, 1);
}

TEST(NodeSimulationTest, WithoutPrefetchingAllForeignNamesAreAskedFor) {
  for (const uint32_t nodes : {2, 3, 8}) {
    const Figures found = Measure(nodes);
    EXPECT_EQ(found.sent_ahead, 0);
    EXPECT_NEAR(found.requests, 12.0 * (nodes - 1) / nodes, 0.6) << nodes;
  }
}

// As in the paper's table: misses a location fall from 1.91 over 1.78 and 1.33
// to 1.26, requests of other nodes from 8.54 to 0.46 and 0.41.
TEST(NodeSimulationTest, EachPartOfTheProtocolHelps) {
  constexpr uint64_t kAhead = kMemory / 3 / 10;
  const Figures none = Measure(3, 0, Refill::kNone);
  const Figures full = Measure(3);
  const Figures random = Measure(3, kAhead, Refill::kRandom);
  const Figures all = Measure(3, kAhead);
  EXPECT_NEAR(none.misses, 1.9, 0.1);
  EXPECT_NEAR(full.misses, 1.75, 0.1);
  EXPECT_LT(random.misses, full.misses - 0.1);
  EXPECT_LT(all.misses, random.misses - 0.05);
  EXPECT_NEAR(full.requests, 8, 0.5);
  EXPECT_LT(all.requests, random.requests);
  EXPECT_LT(random.requests, full.requests / 6);
  EXPECT_GT(all.sent_ahead, kSamples / 2);
}

}  // namespace
}  // namespace shufflefs
