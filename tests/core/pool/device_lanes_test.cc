// SPDX-License-Identifier: Apache-2.0
#include "core/pool/device_lanes.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(DeviceLanesTest, EachDeviceHasOneAndTheRestShareTheLast) {
  const std::vector<uint32_t> devices = {5, 0, 2};
  const DeviceLanes few(devices, 2);
  EXPECT_EQ(few.count(), 2u);
  EXPECT_EQ(few.Of(5), 0u);
  EXPECT_EQ(few.Of(0), 1u);
  EXPECT_EQ(few.Of(2), 1u);
  EXPECT_EQ(few.Of(9), 0u);  // it has no files
  EXPECT_EQ(DeviceLanes(devices, 9).count(), 3u);
  EXPECT_EQ(DeviceLanes({}, 9).count(), 1u);
  EXPECT_EQ(DeviceLanes().count(), 1u);
}

// Takes the best item of the lanes that have room. "-": there is none.
std::string TakeOf(LaneQueue<std::string>& queue,
                   const std::vector<bool>& has_room) {
  for (size_t i = 0; i < queue.offers(); ++i) {
    const auto [lane, item] = queue.At(i);
    if (item == nullptr || !has_room[lane]) continue;
    const std::string offered = *item;
    EXPECT_EQ(queue.Take(lane), offered);
    return offered;
  }
  return "-";
}

TEST(LaneQueueTest, LanesTakeTurnsAndUrgentItemsComeFirst) {
  LaneQueue<std::string> queue(3);
  for (const char* const item : {"a", "b", "c"}) queue.Push(0, item);
  for (const char* const item : {"x", "y"}) queue.Push(2, item);
  queue.Push(2, "u", /*urgent=*/true);
  queue.Push(2, "v", /*urgent=*/true);
  std::string taken;
  for (int i = 0; i < 8; ++i) taken += TakeOf(queue, {true, true, true});
  EXPECT_EQ(taken, "uvaxbyc-");
}

TEST(LaneQueueTest, ALaneWithoutRoomIsPassedBy) {
  LaneQueue<std::string> queue(2);
  queue.Push(0, "u", /*urgent=*/true);
  queue.Push(0, "a");
  queue.Push(1, "x");
  queue.Push(1, "y");
  std::string taken;
  for (int i = 0; i < 3; ++i) taken += TakeOf(queue, {false, true});
  EXPECT_EQ(taken, "xy-");
  // What is urgent is overtaken by nothing of its lane.
  EXPECT_EQ(TakeOf(queue, {true, true}), "u");
  EXPECT_EQ(TakeOf(queue, {true, true}), "a");
}

TEST(LaneQueueTest, ClearTakesAll) {
  LaneQueue<std::string> queue(2);
  queue.Push(1, "x");
  queue.Push(0, "a");
  queue.Push(0, "u", /*urgent=*/true);
  EXPECT_THAT(queue.Clear(), testing::ElementsAre("u", "a", "x"));
  EXPECT_EQ(TakeOf(queue, {true, true}), "-");
}

}  // namespace
}  // namespace shufflefs
