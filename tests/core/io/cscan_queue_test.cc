// SPDX-License-Identifier: Apache-2.0
#include "core/io/cscan_queue.h"

#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::vector<uint32_t> TakeAll(CScanQueue<uint32_t>& queue) {
  std::vector<uint32_t> taken;
  while (const auto request = queue.Take()) taken.push_back(*request);
  return taken;
}

TEST(CScanQueueTest, GoesUpAndBeginsAgainBelow) {
  CScanQueue<uint32_t> queue;
  for (const uint32_t at : {50, 10, 90}) queue.Add(at, at);
  EXPECT_EQ(*queue.Take(), 10u);
  EXPECT_EQ(*queue.Take(), 50u);
  queue.Add(20, 20);  // behind the arm
  queue.Add(70, 70);  // ahead of it
  EXPECT_EQ(TakeAll(queue), (std::vector<uint32_t>{70, 90, 20}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(CScanQueueTest, OfOneAddressWhatCameFirstIsFirst) {
  CScanQueue<uint32_t> queue;
  for (uint32_t i = 0; i < 5; ++i) queue.Add(0, i);
  EXPECT_EQ(*queue.Take(), 0u);
  queue.Add(0, 5);
  EXPECT_EQ(TakeAll(queue), (std::vector<uint32_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace shufflefs
