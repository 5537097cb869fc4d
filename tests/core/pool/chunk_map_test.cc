// SPDX-License-Identifier: Apache-2.0
#include "core/pool/chunk_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
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

// By group: its samples in the chunk.
std::map<uint32_t, uint32_t> Shares(const Grouping& grouping,
                                    const std::vector<uint32_t>& chunk) {
  std::map<uint32_t, uint32_t> shares;
  for (const uint32_t sample : chunk) ++shares[GroupOf(grouping, sample)];
  return shares;
}

TEST(MixedChunks, HaveOneOfEachGroupOfABlock) {
  const Grouping grouping = Equal(128, 20);
  const ChunkList chunks = ComposeMixedChunks(grouping, 1, 64);
  ExpectPartition(chunks, 128 * 20);
  ASSERT_EQ(chunks.size(), 40);
  std::map<std::set<uint32_t>, int> blocks;
  for (const auto& chunk : chunks) {
    std::set<uint32_t> groups;
    for (const auto& [group, share] : Shares(grouping, chunk)) {
      EXPECT_EQ(share, 1) << group;
      groups.insert(group);
    }
    ++blocks[groups];
  }
  ASSERT_EQ(blocks.size(), 2);
  EXPECT_EQ(blocks.begin()->second, 20);
}

TEST(MixedChunks, HaveASharePerGroupAsLargeAsTheGroup) {
  // Few groups: one block. A share differs from the exact one by less than 2,
  // because a chunk begins and ends between two samples of a group.
  const std::vector<uint32_t> sizes = {1000, 1, 500, 0, 333, 77};
  const Grouping grouping = Grouping::WithoutFiles(sizes);
  const ChunkList chunks = ComposeMixedChunks(grouping, 5, 64);
  ExpectPartition(chunks, 1911);
  ASSERT_EQ(chunks.size(), 30);
  for (const auto& chunk : chunks) {
    std::map<uint32_t, uint32_t> shares = Shares(grouping, chunk);
    const double part = static_cast<double>(chunk.size()) / 1911;
    for (uint32_t g = 0; g < sizes.size(); ++g) {
      EXPECT_NEAR(shares[g], sizes[g] * part, 2) << g;
    }
  }
}

TEST(MixedChunks, ArePartitionsOfAnyGroups) {
  Rng rng(RandomKey(20261128));
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> sizes(rng.Bounded(300));
    uint64_t samples = 0;
    for (uint32_t& size : sizes) {
      size = static_cast<uint32_t>(rng.Bounded(rng.Bounded(100) + 1));
      samples += size;
    }
    const auto files = static_cast<uint32_t>(1 + rng.Bounded(90));
    SCOPED_TRACE(absl::StrCat("round ", round, ", ", sizes.size(),
                              " groups, chunks of ", files));
    const ChunkList chunks =
        ComposeMixedChunks(Grouping::WithoutFiles(sizes), rng.Next(), files);
    ExpectPartition(chunks, samples);
    // The binder of locations prefers chunks that fill more. If some were
    // smaller, it would take the same ones last in every epoch.
    for (size_t c = 0; c + 1 < chunks.size(); ++c) {
      ASSERT_EQ(chunks[c].size(), files) << c;
    }
    if (!chunks.empty()) ASSERT_LE(chunks.back().size(), files);
  }
}

TEST(MixedChunks, AreThoseOfTheDatasetForEver) {
  const Grouping grouping = Grouping::WithoutFiles({2, 5, 3});
  const ChunkList chunks = ComposeMixedChunks(grouping, 99, 2);
  EXPECT_EQ(chunks, ComposeMixedChunks(grouping, 99, 2));
  EXPECT_NE(chunks, ComposeMixedChunks(grouping, 100, 2));
  EXPECT_THAT(chunks, ElementsAre(ElementsAre(8, 3), ElementsAre(5, 9),
                                  ElementsAre(6, 2), ElementsAre(7, 4),
                                  ElementsAre(0, 1)));
}

TEST(MixedChunks, OneFileAndMoreThanAll) {
  const Grouping grouping = Equal(3, 4);
  EXPECT_EQ(ComposeMixedChunks(grouping, 1, 1).size(), 12);
  EXPECT_EQ(ComposeMixedChunks(grouping, 1, 1000).size(), 1);
  EXPECT_EQ(ComposeMixedChunks(Equal(0, 0), 1, 64).size(), 0);
}

// Else what is read together would be what lay together.
TEST(MixedChunks, MixTheSamplesOfAGroup) {
  const Grouping grouping = Equal(64, 200);
  std::vector<uint64_t> distances(10);  // of two neighbours' chunks, in tenths
  std::vector<uint64_t> chunk_of(64 * 200);
  const ChunkList chunks = ComposeMixedChunks(grouping, 3, 64);
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (const uint32_t sample : chunks[c]) chunk_of[sample] = c;
  }
  for (uint32_t s = 0; s + 1 < chunk_of.size(); s += 2) {
    const uint64_t distance =
        (chunk_of[s + 1] + chunks.size() - chunk_of[s]) % chunks.size();
    // 1 to 199: two samples of a group are in no chunk together.
    ASSERT_NE(distance, 0) << s;
    if (distance <= 190) ++distances[(distance - 1) / 19];
  }
  EXPECT_LT(std::abs(ChiSquareDeviations(distances)), kMaxDeviations);
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
  // Memory holds 3.3 files a group, so a chunk has 7.4 at most, and a group has
  // three chunks.
  EXPECT_EQ(made.chunks.size(), 3000u);
  for (const auto& chunk : made.chunks) {
    EXPECT_GE(chunk.size(), 6u);
    EXPECT_LE(chunk.size(), 7u);
  }
  const PhysicalChunks more = Compose(grouping, device, 500 * kMiB);
  ExpectPartition(more.chunks, 20000);
  EXPECT_EQ(more.chunks.size(), 2000u);  // 5.1 files a group
}

// A chunk that would be one sample over the limit leaves none behind alone.
TEST(PhysicalChunks, LeaveNoSmallRest) {
  const Grouping grouping = Equal(1000, 200);
  const Device device = EndToEnd(200000, 100 * kKiB, false);
  // 2.1 files a group: a chunk has 5.65 at most.
  const PhysicalChunks made = Compose(grouping, device, 205 * kMiB);
  ExpectPartition(made.chunks, 200000);
  EXPECT_EQ(made.chunks.size(), 40000u);
  for (const auto& chunk : made.chunks) ASSERT_EQ(chunk.size(), 5u);
}

TEST(PhysicalChunks, AreAboutEqualWhateverTheSizes) {
  Rng rng(RandomKey(7));
  const Grouping grouping = Equal(100, 50);
  Device device{std::vector<uint64_t>(5000), std::vector<uint64_t>(5000)};
  uint64_t end = 4096;
  for (uint64_t s = 0; s < 5000; ++s) {
    device.addresses[s] = end;
    device.bytes[s] = (50 + rng.Bounded(101)) * kKiB;
    end += device.bytes[s];
  }
  const PhysicalChunks made = Compose(grouping, device, 100 * kMiB);
  ExpectPartition(made.chunks, 5000);
  for (const auto& chunk : made.chunks) {
    uint64_t bytes = 0;
    for (const uint32_t sample : chunk) bytes += device.bytes[sample];
    // Memory holds 1 MiB a group. A group has 5 MiB, give or take a fifth.
    EXPECT_GE(bytes, 800 * kKiB);
    EXPECT_LE(bytes, kMiB * 3 / 2 + 250 * kKiB);
  }
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
