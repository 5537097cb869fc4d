// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/gain_estimate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/brand/brand.h"

namespace shufflefs {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

// 20,000 files of 100.9 KB in 40 classes, with memory for a sixth of them.
DatasetFacts Data() {
  DatasetFacts facts;
  facts.file_bytes = 100'900;
  facts.classes = 40;
  facts.pool_bytes = 320 << 20;
  facts.options.Set("brand.chunk_files", 64);
  return facts;
}

// The emulated devices as they were measured with fio and plain readers:
// random 4 KiB reads a second alone and 32 at a time, sequential bytes.
DatasetFacts Disk() {
  DatasetFacts facts = Data();
  facts.device = DeviceKind::kSeekBound;
  facts.speed = {1e6 / 158, 1.09, 143.5e6};
  return facts;
}

DatasetFacts FastDisk() {
  DatasetFacts facts = Data();
  facts.device = DeviceKind::kSeekBound;
  facts.speed = {1e6 / 689, 1.16, 150.4e6};
  return facts;
}

DatasetFacts Network() {
  DatasetFacts facts = Data();
  facts.device = DeviceKind::kLatencyBound;
  facts.speed = {1e6 / 252, 8, 378e6};
  return facts;
}

absl::optional<PolicyGain> Estimate(const DatasetFacts& facts, int readers) {
  return EstimateChunks(facts, BrandOptions::Of(facts.options).pool, readers);
}

double Gain(const DatasetFacts& facts, int readers) {
  const absl::optional<PolicyGain> estimate = Estimate(facts, readers);
  EXPECT_TRUE(estimate.has_value());
  return estimate ? estimate->gain() : 0;
}

double RawMegabytes(const DatasetFacts& facts, int readers) {
  return Estimate(facts, readers)->raw * static_cast<double>(facts.file_bytes) /
         1e6;
}

// Random files: 12.4 MB/s with one thread, 14.7 with 16; chunks of 64 that lie
// together 8.1x of the one thread. A whole epoch through brand: about 6x.
TEST(GainEstimateTest, OfADiskThatSeeks) {
  EXPECT_THAT(RawMegabytes(Disk(), 1), AllOf(Ge(11), Le(15)));
  EXPECT_THAT(RawMegabytes(Disk(), 16), AllOf(Ge(13), Le(17)));
  EXPECT_THAT(Gain(Disk(), 1), AllOf(Ge(6), Le(8.1)));
  EXPECT_EQ(AboutTimes(Gain(Disk(), 4)), "about 6x");
}

// 45.3 MB/s, 50.6 with 16; chunks 3.1x.
TEST(GainEstimateTest, OfADiskWithShortSeeks) {
  EXPECT_THAT(RawMegabytes(FastDisk(), 1), AllOf(Ge(40), Le(52)));
  EXPECT_THAT(RawMegabytes(FastDisk(), 16), AllOf(Ge(46), Le(58)));
  EXPECT_THAT(Gain(FastDisk(), 1), AllOf(Ge(2), Le(3.1)));
}

// 24.7 MB/s, 331 with 16. Through brand 3.6x of 4 readers and 1.0x of 16.
TEST(GainEstimateTest, OfANetworkItVanishesWithManyReaders) {
  EXPECT_THAT(RawMegabytes(Network(), 1), AllOf(Ge(22), Le(27)));
  EXPECT_THAT(RawMegabytes(Network(), 16), AllOf(Ge(300), Le(378)));
  EXPECT_EQ(AboutTimes(Gain(Network(), 4)), "about 3x");
  EXPECT_THAT(Gain(Network(), 16), AllOf(Ge(0.7), Le(1.1)));
}

// Reading ahead overlaps round trips that 2 and 4 readers wait for, and 16
// overlap themselves.
TEST(GainEstimateTest, OfReadingAheadOnANetwork) {
  const auto gain = [](int readers) {
    return EstimatePrefetch(Network(), readers)->gain();
  };
  EXPECT_THAT(gain(2), AllOf(Ge(5), Le(6.5)));
  EXPECT_THAT(gain(4), AllOf(Ge(2.5), Le(3.5)));
  EXPECT_THAT(gain(16), AllOf(Ge(0.7), Le(1.1)));
  EXPECT_EQ(EstimatePrefetch(Network(), 4)->raw, Estimate(Network(), 4)->raw);
  EXPECT_FALSE(EstimatePrefetch(Disk(), 4));
  DatasetFacts unknown = Network();
  unknown.speed.random_us = 0;
  EXPECT_FALSE(EstimatePrefetch(unknown, 4));
}

TEST(GainEstimateTest, NothingWithoutFiguresOrOnAQuickDevice) {
  DatasetFacts facts = Disk();
  facts.speed.bytes_per_second = 0;
  EXPECT_FALSE(Estimate(facts, 4));
  facts = Disk();
  facts.speed.random_us = 0;
  EXPECT_FALSE(Estimate(facts, 4));
  facts = Disk();
  facts.file_bytes = 0;
  EXPECT_FALSE(Estimate(facts, 4));
  for (DeviceKind device :
       {DeviceKind::kFlash, DeviceKind::kMemory, DeviceKind::kUnknown}) {
    facts = Disk();
    facts.device = device;
    EXPECT_FALSE(Estimate(facts, 4));
  }
}

// More classes share the same memory: chunks get shorter, until files are
// read alone. A pack keeps its chunks.
TEST(GainEstimateTest, FallsWithTheClassesThatMemoryMustHold) {
  DatasetFacts facts = Disk();
  double before = Gain(facts, 4);
  for (uint64_t classes : {200, 1000, 5000}) {
    facts.classes = classes;
    const double now = Gain(facts, 4);
    EXPECT_LT(now, before) << classes;
    before = now;
  }
  EXPECT_LT(before, kWorthwhileGain);
  facts.classes = 1000;
  const double from_the_tree = Gain(facts, 4);
  facts.options.Set("brand.packed", "/packed");
  EXPECT_GT(Gain(facts, 4), 1.4 * from_the_tree);
}

TEST(GainEstimateTest, TinyMemoryGainsNothing) {
  for (DatasetFacts facts : {Disk(), Network()}) {
    facts.pool_bytes = 4 << 20;
    facts.classes = 1000;
    EXPECT_LT(Gain(facts, 4), kWorthwhileGain);
    facts.pool_bytes = 0;
    EXPECT_LT(Gain(facts, 4), 1);
  }
}

TEST(GainEstimateTest, TinyFilesAreServedOneByOneToo) {
  DatasetFacts facts = FastDisk();
  facts.file_bytes = 100;
  facts.options.Set("brand.chunk_files", 4096);
  EXPECT_LE(Estimate(facts, 4)->rate, 14000);
}

// A probe that ran out of time: a network may gain as much as it can from
// reads at once, so less is promised.
TEST(GainEstimateTest, PromisesLessOfWhatWasNotMeasured) {
  for (DatasetFacts facts : {Disk(), FastDisk()}) {
    const double measured = Gain(facts, 4);
    facts.speed.parallel_gain = 0;
    EXPECT_LT(Gain(facts, 4), measured);
  }
  DatasetFacts facts = Network();
  const double measured = Gain(facts, 4);
  facts.speed.parallel_gain = 0;
  EXPECT_DOUBLE_EQ(Gain(facts, 4), measured);
}

TEST(GainEstimateTest, RoundsDown) {
  EXPECT_EQ(AboutTimes(1.38), "about 1.3x");
  EXPECT_EQ(AboutTimes(1.99), "about 1.9x");
  EXPECT_EQ(AboutTimes(2.49), "about 2.0x");
  EXPECT_EQ(AboutTimes(2.5), "about 2.5x");
  EXPECT_EQ(AboutTimes(3.9), "about 3x");
  EXPECT_EQ(AboutTimes(12.2), "about 12x");
}

}  // namespace
}  // namespace shufflefs
