// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/testbed/device_model.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kSize = 1000000000;

DiskOptions Disk() {
  return {.bytes = kSize,
          .bytes_per_second = 100e6,
          .seek_min = milliseconds(1),
          .seek_max = milliseconds(5),
          .rotation = Nanos(0),
          .read_through = 100000,
          .queue = 4};
}

DeviceRequest At(uint64_t offset, uint64_t length = 0,
                 Nanos arrival = Nanos(0)) {
  return {.offset = offset, .length = length, .arrival = arrival};
}

TEST(DiskModelTest, SeeksGrowWithTheRootOfTheirDistance) {
  const DiskModel disk(Disk());
  EXPECT_EQ(disk.SeekTime(0), Nanos(0));
  EXPECT_EQ(disk.SeekTime(kSize), milliseconds(5));
  EXPECT_EQ(disk.SeekTime(kSize / 4), milliseconds(3));
  EXPECT_EQ(disk.SeekTime(kSize / 100), microseconds(1400));
}

TEST(DiskModelTest, ASequentialReadNeverSeeks) {
  DiskModel disk(Disk());
  Nanos end(0);
  for (uint64_t at = 0; at < 10000000; at += 1000000) {
    end = disk.Serve(At(at, 1000000), end);
  }
  EXPECT_EQ(end, milliseconds(100));
  EXPECT_EQ(disk.counts().seeks, 0u);
  EXPECT_EQ(disk.counts().requests, 10u);
  EXPECT_EQ(disk.counts().bytes, 10000000u);
  EXPECT_EQ(disk.counts().busy, end);
}

TEST(DiskModelTest, ASeekAndTheTransferAddUp) {
  DiskModel disk(Disk());
  EXPECT_EQ(disk.Serve(At(kSize / 4, 1000000), Nanos(0)),
            milliseconds(3) + milliseconds(10));
  EXPECT_EQ(disk.counts().seeks, 1u);
}

TEST(DiskModelTest, AShortGapAheadIsReadThrough) {
  DiskModel disk(Disk());
  disk.Serve(At(0, 1000), Nanos(0));
  EXPECT_EQ(disk.Serve(At(51000), Nanos(0)), microseconds(10 + 500));
  EXPECT_EQ(disk.counts().seeks, 0u);
  // Back, or too far ahead, it seeks.
  disk.Serve(At(50000), Nanos(0));
  EXPECT_EQ(disk.counts().seeks, 1u);
  disk.Serve(At(150001), Nanos(0));
  EXPECT_EQ(disk.counts().seeks, 2u);
}

TEST(DiskModelTest, TheWaitForTheRotationIsUniform) {
  DiskOptions options = Disk();
  options.rotation = milliseconds(8);
  options.seek_max = options.seek_min;
  DiskModel disk(options);
  Nanos last(0);
  Nanos least = seconds(1);
  Nanos most(0);
  constexpr int kTimes = 2000;
  for (int i = 0; i < kTimes; ++i) {
    const Nanos end = disk.Serve(At(i % 2 == 0 ? kSize : 0), last);
    least = std::min(least, end - last);
    most = std::max(most, end - last);
    last = end;
  }
  EXPECT_GE(least, milliseconds(1));
  EXPECT_LT(least, microseconds(1100));
  EXPECT_GT(most, microseconds(8900));
  EXPECT_LE(most, milliseconds(9));
  EXPECT_NEAR(static_cast<double>(last.count()) / kTimes, 5e6, 0.25e6);
}

TEST(DiskModelTest, TheNearestWaitingRequestIsServedFirst) {
  DiskModel disk(Disk());
  disk.Serve(At(500000, 0), Nanos(0));
  const std::vector<DeviceRequest> waiting = {At(0), At(900000), At(450000),
                                              At(700000)};
  EXPECT_EQ(disk.Choose(waiting, Nanos(0)), 2u);
}

TEST(DiskModelTest, ItChoosesOnlyWithinItsQueue) {
  DiskModel disk(Disk());
  std::vector<DeviceRequest> waiting(4, At(900000));
  waiting.push_back(At(0));
  EXPECT_EQ(disk.Choose(waiting, Nanos(0)), 0u);
  waiting[3] = At(10);
  EXPECT_EQ(disk.Choose(waiting, Nanos(0)), 3u);
}

TEST(DiskModelTest, NoRequestStarves) {
  DiskModel disk(Disk());
  const std::vector<DeviceRequest> waiting = {At(900000), At(0)};
  EXPECT_EQ(disk.Choose(waiting, milliseconds(200)), 1u);
  EXPECT_EQ(disk.Choose(waiting, milliseconds(201)), 0u);
}

TEST(DiskModelTest, ALateServerDoesNotSlowTheDevice) {
  DiskModel disk(Disk());
  disk.Serve(At(0, 1000000), Nanos(0));
  // Arrived while the first was served, and taken up late.
  EXPECT_EQ(disk.Serve(At(1000000, 1000000, milliseconds(5)), milliseconds(50)),
            milliseconds(20));
  // An idle device begins when the request arrives.
  EXPECT_EQ(disk.Serve(At(2000000, 1000000, seconds(1)), seconds(1)),
            seconds(1) + milliseconds(10));
}

TEST(NetworkModelTest, LatencyIsParallelAndBandwidthIsShared) {
  NetworkModel nas(
      {.bytes_per_second = 100e6, .latency = milliseconds(3), .parallel = 64});
  EXPECT_EQ(nas.servers(), 64u);
  for (int i = 1; i <= 10; ++i) {
    EXPECT_EQ(nas.Serve(At(0, 1000000), Nanos(0)),
              milliseconds(3) + i * milliseconds(10));
  }
  // The link was idle in between.
  EXPECT_EQ(nas.Serve(At(0, 1000000), seconds(1)),
            seconds(1) + milliseconds(13));
  EXPECT_EQ(nas.counts().bytes, 11000000u);
  EXPECT_EQ(nas.counts().seeks, 0u);
}

TEST(NetworkModelTest, JitterIsAddedToTheLatency) {
  NetworkModel nas({.bytes_per_second = 100e6,
                    .latency = milliseconds(3),
                    .jitter = milliseconds(1)});
  Nanos sum(0);
  constexpr int kTimes = 2000;
  for (int i = 0; i < kTimes; ++i) {
    const Nanos start = seconds(i);
    const Nanos took = nas.Serve(At(0), start) - start;
    EXPECT_GE(took, milliseconds(3));
    EXPECT_LT(took, milliseconds(4));
    sum += took;
  }
  EXPECT_NEAR(static_cast<double>(sum.count()) / kTimes, 3.5e6, 0.05e6);
}

TEST(NetworkModelTest, RequestsAreTakenInTheOrderOfTheirArrival) {
  const NetworkModel nas({.bytes_per_second = 1});
  EXPECT_EQ(nas.Choose(std::vector<DeviceRequest>(3), Nanos(0)), 0u);
}

}  // namespace
}  // namespace shufflefs
