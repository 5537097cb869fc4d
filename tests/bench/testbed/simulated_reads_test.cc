// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/testbed/simulated_reads.h"

#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;

std::vector<DeviceRequest> Every(uint64_t step, uint64_t length, int count) {
  std::vector<DeviceRequest> reads;
  for (int i = 0; i < count; ++i) {
    reads.push_back({.offset = step * static_cast<uint64_t>(i),
                     .length = length,
                     .arrival = Nanos(0)});
  }
  return reads;
}

DiskModel Disk() {
  return DiskModel({.bytes = 1000000000,
                    .bytes_per_second = 100e6,
                    .seek_min = milliseconds(2),
                    .seek_max = milliseconds(2),
                    .rotation = Nanos(0),
                    .read_through = 0,
                    .queue = 32});
}

TEST(SimulatedReadsTest, NothingTakesNoTime) {
  DiskModel disk = Disk();
  EXPECT_EQ(TimeOfReads(disk, {}, 4), Nanos(0));
}

TEST(SimulatedReadsTest, ADiskReadsOneAfterTheOther) {
  DiskModel disk = Disk();
  EXPECT_EQ(TimeOfReads(disk, Every(1000000, 1000000, 10), 4),
            milliseconds(100));
  DiskModel seeks = Disk();
  EXPECT_EQ(TimeOfReads(seeks, Every(5000000, 1000000, 10), 1),
            milliseconds(9 * 2 + 100));
}

// Of 5, 1, 4, 2, 3 the nearest is next: with all waiting they are sequential.
TEST(SimulatedReadsTest, WhatWaitsIsChosenFrom) {
  std::vector<DeviceRequest> reads;
  for (const uint64_t place : {4, 0, 3, 1, 2}) {
    reads.push_back(
        {.offset = place * 1000000, .length = 1000000, .arrival = Nanos(0)});
  }
  DiskModel all = Disk();
  EXPECT_EQ(TimeOfReads(all, reads, 5), milliseconds(50));
  DiskModel one = Disk();
  EXPECT_EQ(TimeOfReads(one, reads, 1), milliseconds(50 + 4 * 2));
}

// The latency is hidden by other requests, the link is not.
TEST(SimulatedReadsTest, ANetworkServesManyAtATime) {
  const NetworkOptions options = {.bytes_per_second = 1e9,
                                  .latency = milliseconds(10),
                                  .jitter = Nanos(0),
                                  .parallel = 8};
  NetworkModel one(options);
  EXPECT_EQ(TimeOfReads(one, Every(0, 1000000, 16), 1), milliseconds(16 * 11));
  NetworkModel two(options);
  EXPECT_EQ(TimeOfReads(two, Every(0, 1000000, 16), 2),
            milliseconds(8 * 11 + 1));
  // Eight in service at once, however many wait: two rounds.
  NetworkModel many(options);
  EXPECT_EQ(TimeOfReads(many, Every(0, 1000000, 16), 16),
            milliseconds(11 + 11 + 7));
}

}  // namespace
}  // namespace shufflefs
