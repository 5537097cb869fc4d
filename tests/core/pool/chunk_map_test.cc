// SPDX-License-Identifier: Apache-2.0
#include "core/pool/chunk_map.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/random/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/quality/statistics.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;

Grouping Equal(uint32_t groups, uint32_t samples) {
  return Grouping::WithoutFiles(std::vector<uint32_t>(groups, samples));
}

// Every sample once, no chunk empty.
void ExpectPartition(const ChunkList& chunks, uint64_t samples) {
  std::vector<int> seen(samples);
  for (const auto& chunk : chunks) {
    EXPECT_FALSE(chunk.empty());
    for (const uint32_t sample : chunk) {
      ASSERT_LT(sample, samples);
      ++seen[sample];
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), samples);
}

// A device on which samples lie end to end, in the order of their ids or of a
// permutation.
struct Device {
  std::vector<uint64_t> addresses;
  std::vector<uint64_t> bytes;
};

Device EndToEnd(uint64_t samples, uint64_t bytes, bool mixed) {
  const Permutation order(samples, RandomKey(5));
  Device device{std::vector<uint64_t>(samples),
                std::vector<uint64_t>(samples, bytes)};
  for (uint64_t i = 0; i < samples; ++i) {
    device.addresses[mixed ? order(i) : i] = 4096 + i * bytes;
  }
  return device;
}

PhysicalChunks Compose(const Grouping& grouping, const Device& device,
                       uint64_t memory, uint32_t files = 64) {
  PhysicalChunkOptions options;
  options.memory_bytes = memory;
  options.files_per_chunk = files;
  return ComposePhysicalChunks(grouping, device.addresses, device.bytes,
                               options);
}

uint32_t GroupOf(const Grouping& grouping, uint32_t sample) {
  return grouping.group_of(SampleId(sample)).value();
}

TEST(RandomChunks, AreAPartitionIntoFullChunks) {
  const Grouping grouping = Equal(7, 143);
  const ChunkList chunks = ComposeRandomChunks(grouping, 1, 64);
  ExpectPartition(chunks, 1001);
  ASSERT_EQ(chunks.size(), 16);
  for (size_t c = 0; c + 1 < chunks.size(); ++c) {
    EXPECT_EQ(chunks[c].size(), 64) << c;
  }
  EXPECT_EQ(chunks.back().size(), 1001 - 15 * 64);
}

TEST(RandomChunks, AreThoseOfTheDatasetForEver) {
  const Grouping grouping = Equal(2, 5);
  const ChunkList chunks = ComposeRandomChunks(grouping, 99, 4);
  EXPECT_EQ(chunks, ComposeRandomChunks(grouping, 99, 4));
  EXPECT_NE(chunks, ComposeRandomChunks(grouping, 100, 4));
  EXPECT_THAT(chunks, ElementsAre(ElementsAre(4, 5, 3, 6),
                                  ElementsAre(7, 8, 9, 1), ElementsAre(0, 2)));
}

TEST(RandomChunks, MixGroups) {
  const Grouping grouping = Equal(10, 1000);
  std::vector<uint64_t> pairs(10);  // by distance between neighbours' groups
  for (const auto& chunk : ComposeRandomChunks(grouping, 3, 64)) {
    for (size_t i = 1; i < chunk.size(); ++i) {
      const uint32_t a = GroupOf(grouping, chunk[i - 1]);
      const uint32_t b = GroupOf(grouping, chunk[i]);
      ++pairs[(b + 10 - a) % 10];
    }
  }
  EXPECT_LT(std::abs(ChiSquareDeviations(pairs)), kMaxDeviations);
}

TEST(RandomChunks, OneFileAndMoreThanAll) {
  const Grouping grouping = Equal(3, 4);
  EXPECT_EQ(ComposeRandomChunks(grouping, 1, 1).size(), 12);
  EXPECT_EQ(ComposeRandomChunks(grouping, 1, 1000).size(), 1);
  EXPECT_EQ(ComposeRandomChunks(Equal(0, 0), 1, 64).size(), 0);
}

TEST(PhysicalChunks, HoldOneGroupEachWhereClassesLieTogether) {
  const Grouping grouping = Equal(40, 500);
  const Device device = EndToEnd(20000, 100 * kKiB, false);
  const PhysicalChunks made = Compose(grouping, device, 320 * kMiB);
  ExpectPartition(made.chunks, 20000);
  uint64_t largest = 0;
  for (const auto& chunk : made.chunks) {
    largest = std::max<uint64_t>(largest, chunk.size());
    EXPECT_EQ(GroupOf(grouping, chunk.front()),
              GroupOf(grouping, chunk.back()));
    EXPECT_TRUE(std::is_sorted(chunk.begin(), chunk.end()));
  }
  // 320 MiB hold 8 MiB of each of 40 groups, more than 64 files.
  EXPECT_LE(largest, 64);
  EXPECT_EQ(made.chunks.size(), 40 * 8);
  EXPECT_THAT(made.how, HasSubstr("of one group each"));
  EXPECT_THAT(made.how, HasSubstr("320 MiB of memory are shared by 40 groups"));
}

TEST(PhysicalChunks, AreSmallWhereGroupsAreMany) {
  const Grouping grouping = Equal(1000, 20);
  const Device device = EndToEnd(20000, 100 * kKiB, false);
  const PhysicalChunks made = Compose(grouping, device, 320 * kMiB);
  ExpectPartition(made.chunks, 20000);
  // 3.2 files a group and three more, so a group has four chunks.
  EXPECT_EQ(made.chunks.size(), 4000u);
  for (const auto& chunk : made.chunks) EXPECT_EQ(chunk.size(), 5u);
  const PhysicalChunks more = Compose(grouping, device, 500 * kMiB);
  ExpectPartition(more.chunks, 20000);
  EXPECT_EQ(more.chunks.size(), 3000u);
}

TEST(PhysicalChunks, AreLargeWhereGroupsAreMixedOnTheDevice) {
  const Grouping grouping = Equal(1000, 20);
  const Device device = EndToEnd(20000, 100 * kKiB, true);
  const PhysicalChunks made = Compose(grouping, device, 320 * kMiB);
  ExpectPartition(made.chunks, 20000);
  EXPECT_EQ(made.chunks.size(), 20000 / 64 + 1);
  EXPECT_THAT(made.how, HasSubstr("mixed on the device"));
}

TEST(PhysicalChunks, OfALongTailLeaveMostOfTheMemoryToTheLargeGroups) {
  // One group of 10,000 and 999 of 5: these are whole in memory.
  std::vector<uint32_t> sizes(1000, 5);
  sizes[0] = 10000;
  const Grouping grouping = Grouping::WithoutFiles(sizes);
  const Device device = EndToEnd(14995, 10 * kKiB, false);
  const PhysicalChunks made = Compose(grouping, device, 60 * kMiB);
  ExpectPartition(made.chunks, 14995);
  for (const auto& chunk : made.chunks) {
    if (GroupOf(grouping, chunk.front()) == 0) {
      EXPECT_GE(chunk.size(), 50);
    } else {
      EXPECT_EQ(chunk.size(), 5);
    }
  }
}

TEST(PhysicalChunks, NeverSpanALargeGap) {
  const Grouping grouping = Equal(1, 100);
  Device device = EndToEnd(100, 100 * kKiB, false);
  for (uint64_t i = 50; i < 100; ++i) device.addresses[i] += kMiB + 1;
  for (uint64_t i = 75; i < 100; ++i) device.addresses[i] += kMiB;
  const PhysicalChunks made = Compose(grouping, device, 320 * kMiB, 1000);
  ExpectPartition(made.chunks, 100);
  ASSERT_EQ(made.chunks.size(), 2);
  EXPECT_EQ(made.chunks[0].back(), 49);
  EXPECT_EQ(made.chunks[1].front(), 50);
}

TEST(PhysicalChunks, HoldAtMostTheirBytesButForASingleSample) {
  const Grouping grouping = Equal(1, 20);
  Device device = EndToEnd(20, kMiB, false);
  device.bytes[3] = 20 * kMiB;
  for (uint64_t i = 4; i < 20; ++i) device.addresses[i] += 19 * kMiB;
  const PhysicalChunks made = Compose(grouping, device, 320 * kMiB);
  ExpectPartition(made.chunks, 20);
  for (const auto& chunk : made.chunks) {
    uint64_t bytes = 0;
    for (const uint32_t sample : chunk) bytes += device.bytes[sample];
    if (chunk.size() > 1) {
      EXPECT_LE(bytes, 8 * kMiB);
    }
  }
}

TEST(PhysicalChunks, OfOneGroupDoNotSpeakOfGroups) {
  const PhysicalChunks made =
      Compose(Equal(1, 100), EndToEnd(100, kKiB, false), kMiB);
  EXPECT_EQ(made.how, "2 chunks of about 50 samples that lie together");
  EXPECT_THAT(made.how, Not(HasSubstr("group")));
}

TEST(PhysicalChunks, OfNothingAreNone) {
  EXPECT_TRUE(Compose(Equal(0, 0), {}, kMiB).chunks.empty());
}

}  // namespace
}  // namespace shufflefs
