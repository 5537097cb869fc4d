// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/straddling_record_cache.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/io/file_reader.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/records/content/part_reads.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

constexpr uint64_t kBlock = 65536;  // taken from the pool at once

// A cache with a pool of its own.
struct TestCache {
  TestCache(uint64_t memory, uint64_t most_pieces)
      : pool(BufferPool::Make({.bytes = memory})),
        cache(Shares(*pool, memory), most_pieces) {}

  static std::vector<std::unique_ptr<PoolShare>> Shares(BufferPool& pool,
                                                        uint64_t memory) {
    std::vector<std::unique_ptr<PoolShare>> shares;
    shares.push_back(
        *pool.Open({.name = "test", .guarantee = kBlock, .most = kBlock}));
    shares.push_back(
        *pool.Open({.name = "test", .guarantee = memory - kBlock}));
    return shares;
  }

  const std::shared_ptr<BufferPool> pool;
  StraddlingRecordCache cache;
};

TEST(StraddlingRecordCacheTest, APieceIsTakenOnceByWhoAsksForAllOfIt) {
  TestCache test(kBlock * 2, 100);
  test.cache.Keep(1, 500, "abc");
  EXPECT_GT(test.cache.bytes(), 3u);
  EXPECT_FALSE(test.cache.Take(2, 500, 3));
  EXPECT_FALSE(test.cache.Take(1, 501, 3));
  EXPECT_FALSE(test.cache.Take(1, 500, 2));
  EXPECT_EQ(test.cache.Take(1, 500, 3), "abc");
  EXPECT_FALSE(test.cache.Take(1, 500, 3));
  EXPECT_EQ(test.cache.bytes(), 0u);
  EXPECT_EQ(test.pool->used(), 0u);
}

TEST(StraddlingRecordCacheTest, TheBoundHoldsAndWhatIsForgottenMakesRoom) {
  TestCache test(kBlock * 3, 10000);
  for (uint64_t i = 0; i < 5000; ++i) {
    test.cache.Keep(i % 2, i, std::string(100, 'x'));
  }
  EXPECT_EQ(test.pool->used(), kBlock * 3);
  EXPECT_FALSE(test.cache.Take(1, 4999, 100)) << "there was room for all";
  test.cache.Forget({0});
  EXPECT_FALSE(test.cache.Take(0, 0, 100));
  test.cache.Keep(1, 4999, std::string(100, 'y'));
  EXPECT_EQ(test.cache.Take(1, 4999, 100), std::string(100, 'y'));
  EXPECT_EQ(test.cache.Take(1, 1, 100), std::string(100, 'x'));
  test.cache.Forget({1});
  EXPECT_EQ(test.pool->used(), 0u);
}

TEST(StraddlingRecordCacheTest, NoMorePiecesAreKeptThanCanBeFound) {
  TestCache test(kBlock * 3, 10);
  for (uint64_t i = 0; i < 11; ++i) test.cache.Keep(1, i, "x");
  EXPECT_FALSE(test.cache.Take(1, 10, 1));
  EXPECT_TRUE(test.cache.Take(1, 9, 1));
  test.cache.Keep(1, 10, "x");
  EXPECT_TRUE(test.cache.Take(1, 10, 1));
}

// Against a map. What is given back may go, but nothing is ever wrong.
TEST(StraddlingRecordCacheTest, APieceIsWhatWasKept) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  TestCache test(kBlock * 8, 2000);
  std::map<uint64_t, std::string> kept;
  uint64_t found = 0;
  for (int i = 0; i < testing_support::Rounds(40000, 8000); ++i) {
    const uint64_t key = rng.Bounded(1000);
    if (rng.Bounded(2000) == 0) {
      const uint64_t used = test.pool->used();
      test.cache.GiveBack(2 * kBlock - 1);
      ASSERT_EQ(test.pool->used(), used - std::min(used, 2 * kBlock));
    } else if (const auto known = kept.find(key); known != kept.end()) {
      const auto piece = test.cache.Take(key % 3, key, known->second.size());
      found += piece ? 1 : 0;
      ASSERT_EQ(piece.value_or(known->second), known->second);
      kept.erase(known);
    } else {
      std::string piece(1 + rng.Bounded(800), '\0');
      for (char& byte : piece) byte = static_cast<char>(rng.Bounded(256));
      test.cache.Keep(key % 3, key, piece);
      kept.emplace(key, std::move(piece));
    }
  }
  EXPECT_GT(found, 1000u);
  test.cache.Forget({0, 1, 2});
  EXPECT_EQ(test.pool->used(), 0u);
}

// Reads the parts of a file one after the other, and keeps what they say.
struct SeamReader {
  std::map<uint64_t, std::string> kept;
  std::map<uint64_t, int> pages;
  std::string shown;

  void Read(const ShuffledFile& file, uint64_t part,
            const std::string& content) {
    const PartPlan plan = file.PlanSeams(
        part,
        [this](uint64_t from, uint64_t bytes) -> absl::optional<std::string> {
          const auto found = kept.find(from);
          if (found == kept.end() || found->second.size() != bytes) return {};
          std::string piece = std::move(found->second);
          kept.erase(found);
          return piece;
        });
    PartReadLimits limits;
    limits.gap_bytes = 1;  // what touches is one read
    for (const PartRead& read : PlanPartReads(plan, limits)) {
      for (uint64_t at = 0; at < read.length; at += kReadAlignment) {
        ++pages[(read.offset + at) / kReadAlignment];
      }
    }
    for (size_t i = 1; i < plan.copies.size(); ++i) {
      EXPECT_GE(plan.copies[i].from,
                plan.copies[i - 1].from + plan.copies[i - 1].bytes)
          << "copies overlap";
    }
    PartPlan with_kept = plan;
    with_kept.bytes = std::max(plan.bytes, plan.kept_end);
    std::string bytes = testing_support::Apply(with_kept, content);
    for (const PartCopy& piece : plan.kept) {
      EXPECT_TRUE(
          kept.emplace(piece.from, bytes.substr(piece.to, piece.bytes)).second)
          << "kept twice";
    }
    shown += bytes.substr(0, plan.bytes);
  }
};

// Not even for the records that lie in two of them (LIRS reads those twice).
TEST(StraddlingRecordCacheTest, NoPageIsReadTwiceInAnEpoch) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const uint64_t block : {4096, 8192, 65536}) {
    for (const uint64_t window : {1, 3}) {
      const testing_support::Container container =
          testing_support::MakeContainer(
              testing_support::RandomSizes(20000, 660, rng), rng.Bounded(9000),
              rng.Bounded(5000), rng);
      PolicyOptions policy_options;
      policy_options.Set("reimu.block", block);
      policy_options.Set("reimu.window", window);
      const auto policy = testing_support::PolicyOf("reimu", policy_options);
      RecordOrderOptions options;
      options.epoch = Epoch(rng.Bounded(1000));
      options.of_a_file = true;
      const ShuffledFile file(
          container.shape,
          MakeRecordOrder(*policy, *container.shape.records, options));
      ASSERT_GT(file.part_count(), 3u);
      SeamReader reader;
      std::string plain;
      for (uint64_t part = 0; part < file.part_count(); ++part) {
        reader.Read(file, part, container.content);
        plain += testing_support::Apply(file.Plan(part), container.content);
      }
      EXPECT_TRUE(reader.shown == plain) << block << " " << window;
      EXPECT_TRUE(reader.kept.empty()) << "kept for nobody";
      // Head and tail are read by themselves.
      const RecordTable& table = *container.shape.records;
      const uint64_t head = table.begin(0) / kReadAlignment;
      const uint64_t tail = table.begin(table.count()) / kReadAlignment;
      for (const auto& [page, times] : reader.pages) {
        EXPECT_EQ(times, page <= head || page >= tail ? times : 1)
            << "page " << page << " of blocks of " << block;
      }
    }
  }
}

// Records of many blocks: their ends are kept, or read again, but never wrong.
TEST(StraddlingRecordCacheTest, RecordsLongerThanBlocksComeWhole) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < testing_support::Rounds(20, 4); ++round) {
    std::vector<uint64_t> sizes = testing_support::RandomSizes(600, 9000, rng);
    for (int i = 0; i < 30; ++i) {
      sizes[rng.Bounded(sizes.size())] = 1 + rng.Bounded(300000);
    }
    testing_support::Container container =
        testing_support::MakeContainer(sizes, rng.Bounded(5000), 0, rng);
    const auto policy = testing_support::Blocks(4096, 1 + rng.Bounded(3));
    RecordOrderOptions options;
    options.seed = Seed(round);
    options.of_a_file = true;
    const ShuffledFile file(
        container.shape,
        MakeRecordOrder(*policy, *container.shape.records, options));
    SeamReader reader;
    std::string plain;
    for (uint64_t part = 0; part < file.part_count(); ++part) {
      reader.Read(file, part, container.content);
      plain += testing_support::Apply(file.Plan(part), container.content);
    }
    EXPECT_TRUE(reader.shown == plain) << round;
  }
}

// Through the pool, where parts are planned ahead of those that bring a piece.
// The file has 3.2 times the memory. A part has so many of its pages that some
// are read with what lies between them, which a large file has less of.
TEST(StraddlingRecordCacheTest, APoolReadsFewPagesTwice) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  testing_support::TestPool test(24 << 20);
  testing_support::ShapeOptions shape;
  shape.sizes = testing_support::RandomSizes(240000, 660, rng);
  const testing_support::TestFile file(*test.pool, 1, shape,
                                       *testing_support::Blocks(4096, 1));
  for (uint64_t at = 0; at < file.bytes.size(); at += 1 << 17) {
    const auto read = testing_support::ReadFrom(*test.pool, file, at, 1 << 17);
    test.asked->ComeAll();
    testing_support::ExpectBytes(*read, file, at, 1 << 17);
  }
  uint64_t read = 0;
  const auto pages = test.asked->pages();
  for (const auto& [page, times] : pages) read += times;
  EXPECT_LT(read, pages.size() * 115 / 100) << "of " << pages.size();
}

}  // namespace
}  // namespace shufflefs
