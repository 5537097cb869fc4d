// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/order_memory.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::vector<uint64_t> OrderOfNames(uint64_t names, uint64_t seed) {
  std::vector<uint64_t> order(names);
  std::iota(order.begin(), order.end(), uint64_t{0});
  Rng rng((RandomKey(seed)));
  for (uint64_t i = names; i > 1; --i) {
    std::swap(order[i - 1], order[rng.Bounded(i)]);
  }
  return order;
}

// A pass of all nodes: node i opens every name of its share of the order.
class ReadingNodes {
 public:
  ReadingNodes(uint64_t names, uint32_t count)
      : memory(names), opened_(count) {}

  void Pass(const std::vector<uint64_t>& order, uint64_t jitter = 1) {
    std::vector<uint64_t> opened = order;
    Rng rng((RandomKey(order[0])));
    for (uint64_t i = 0; i + jitter < opened.size(); ++i) {
      std::swap(opened[i], opened[i + rng.Bounded(jitter)]);
    }
    for (uint64_t i = 0; i < opened.size(); ++i) {
      const uint32_t node = static_cast<uint32_t>(i % opened_.size());
      memory.Note(node, opened[i], opened_[node]++);
    }
  }
  // The node forgets what it has opened and not told.
  void Skip(uint32_t node, uint64_t opens) { opened_[node] += opens; }

  OrderMemory memory;

 private:
  std::vector<uint64_t> opened_;
};

TEST(OrderMemoryTest, InDoubtAnOrderIsFixed) {
  ReadingNodes nodes(1000, 4);
  EXPECT_TRUE(nodes.memory.is_fixed());
  nodes.Pass(OrderOfNames(1000, 1));
  EXPECT_TRUE(nodes.memory.is_fixed());
}

TEST(OrderMemoryTest, RandomOrdersAreNot) {
  for (const uint64_t names : {800, 10000, 300000}) {
    for (const uint32_t count : {1, 4, 8}) {
      ReadingNodes nodes(names, count);
      for (uint64_t pass = 0; pass < 3; ++pass) {
        nodes.Pass(OrderOfNames(names, pass));
      }
      EXPECT_FALSE(nodes.memory.is_fixed()) << names << " on " << count;
    }
  }
}

TEST(OrderMemoryTest, OneOrderIsWhateverWorkersAndLostOpensDoToIt) {
  for (const uint64_t names : {600, 10000, 300000}) {
    ReadingNodes nodes(names, 1);
    const std::vector<uint64_t> order = OrderOfNames(names, 5);
    for (uint64_t pass = 0; pass < 3; ++pass) {
      nodes.Pass(order, /*jitter=*/16);
      nodes.Skip(0, 77);
    }
    EXPECT_TRUE(nodes.memory.is_fixed()) << names;
  }
}

}  // namespace
}  // namespace shufflefs
