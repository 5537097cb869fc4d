// SPDX-License-Identifier: Apache-2.0
#include "core/pool/memory/arena.h"

#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(Arena, HandsOutEveryPageOnceAndNoMore) {
  auto arena = Arena::Make(1000 * Arena::kPage);
  ASSERT_TRUE(arena.ok()) << arena.status();
  std::mt19937_64 random(5);
  std::vector<std::unique_ptr<MemoryBlock>> blocks;
  uint64_t used = 0;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 && !blocks.empty()) {
      const size_t i = random() % blocks.size();
      for (const iovec& run : blocks[i]->pieces()) {
        // Nobody else wrote into it.
        const char mark = static_cast<char*>(run.iov_base)[0];
        for (size_t at = 0; at < run.iov_len; at += Arena::kPage) {
          ASSERT_EQ(static_cast<char*>(run.iov_base)[at], mark);
        }
        used -= run.iov_len;
      }
      std::swap(blocks[i], blocks.back());
      blocks.pop_back();
    } else {
      const uint64_t bytes = 1 + random() % (64 * Arena::kPage);
      auto block = (*arena)->Allocate(bytes);
      if (block == nullptr) {
        EXPECT_GT(used + Arena::Footprint(bytes), (*arena)->capacity());
        continue;
      }
      uint64_t got = 0;
      const char mark = static_cast<char>(random());
      for (const iovec& run : block->pieces()) {
        std::memset(run.iov_base, mark, run.iov_len);
        got += run.iov_len;
      }
      EXPECT_EQ(got, Arena::Footprint(bytes));
      used += got;
      blocks.push_back(std::move(block));
    }
    ASSERT_EQ((*arena)->used(), used);
  }
}

TEST(Arena, ARangeHasNoEmptyPieces) {
  auto arena = Arena::Make(8 * Arena::kPage);
  ASSERT_TRUE(arena.ok()) << arena.status();
  auto first = (*arena)->Allocate(Arena::kPage);
  const auto kept = (*arena)->Allocate(Arena::kPage);
  first.reset();
  const auto block = (*arena)->Allocate(3 * Arena::kPage);  // two pieces
  ASSERT_EQ(block->pieces().size(), 2u);
  const std::vector<iovec> range =
      block->Range(block->pieces()[0].iov_len, Arena::kPage);
  ASSERT_EQ(range.size(), 1u);
  EXPECT_EQ(range[0].iov_base, block->pieces()[1].iov_base);
  EXPECT_EQ(range[0].iov_len, Arena::kPage);
}

TEST(Arena, OnePageMoreThanIsFreeIsRefused) {
  auto arena = Arena::Make(130 * Arena::kPage);
  ASSERT_TRUE(arena.ok()) << arena.status();
  const auto most = (*arena)->Allocate(100 * Arena::kPage);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ((*arena)->Allocate(31 * Arena::kPage), nullptr);
  EXPECT_EQ((*arena)->used(), 100 * Arena::kPage);
  EXPECT_NE((*arena)->Allocate(30 * Arena::kPage), nullptr);
}

}  // namespace
}  // namespace shufflefs
