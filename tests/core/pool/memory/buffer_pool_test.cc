// SPDX-License-Identifier: Apache-2.0
#include "core/pool/memory/buffer_pool.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/pool/pool_memory.h"
#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Blocks = std::vector<std::unique_ptr<MemoryBlock>>;
constexpr uint64_t kPoolPage = Arena::kPage;

// A share takes whatever it gets, a page at a time. Returns the pages it has.
uint64_t TakeAll(PoolShare& share, Blocks& blocks) {
  while (auto block = share.Allocate(kPoolPage))
    blocks.push_back(std::move(block));
  return share.used() / kPoolPage;
}

std::shared_ptr<BufferPool> PoolOf(uint64_t pages, bool stays_active = true) {
  BufferPool::Options options;
  options.bytes = pages * kPoolPage;
  if (!stays_active) options.active_for = std::chrono::seconds(0);
  return BufferPool::Make(options);
}

std::unique_ptr<PoolShare> Open(BufferPool& pool, uint64_t guarantee,
                                uint64_t floor = 0, uint64_t most = 1 << 20) {
  return *pool.Open({.name = "a",
                     .guarantee = guarantee * kPoolPage,
                     .floor = floor * kPoolPage,
                     .most = most * kPoolPage});
}

TEST(BufferPoolTest, AShareThatIsAloneMayHaveAll) {
  const auto pool = PoolOf(100);
  const auto share = Open(*pool, 40);
  Blocks blocks;
  EXPECT_EQ(share->Room(), 100 * kPoolPage);
  EXPECT_EQ(TakeAll(*share, blocks), 100u);
  EXPECT_EQ(pool->used(), 100 * kPoolPage);
  EXPECT_EQ(share->Room(), 0u);
  blocks.resize(30);
  EXPECT_EQ(share->Room(), 70 * kPoolPage);
}

TEST(BufferPoolTest, NoShareUsesMoreThanItsMost) {
  const auto pool = PoolOf(100);
  const auto share = Open(*pool, 40, 0, 25);
  Blocks blocks;
  EXPECT_EQ(TakeAll(*share, blocks), 25u);
}

TEST(BufferPoolTest, WhatAnActiveShareIsGuaranteedIsNotLent) {
  const auto pool = PoolOf(100);
  const auto first = Open(*pool, 50);
  const auto second = Open(*pool, 50);
  Blocks blocks;
  blocks.push_back(second->Allocate(kPoolPage));
  EXPECT_EQ(TakeAll(*first, blocks), 50u);
  EXPECT_EQ(TakeAll(*second, blocks), 50u);
}

TEST(BufferPoolTest, WhatAnActiveShareCannotUseIsLent) {
  const auto pool = PoolOf(100);
  const auto first = Open(*pool, 50);
  const auto second = Open(*pool, 50, 0, 20);
  Blocks blocks;
  blocks.push_back(second->Allocate(kPoolPage));
  EXPECT_EQ(TakeAll(*first, blocks), 80u);
  EXPECT_EQ(TakeAll(*second, blocks), 20u);
}

TEST(BufferPoolTest, AFloorIsThereWhateverOthersUse) {
  const auto pool = PoolOf(100, /*stays_active=*/false);
  const auto fixed = Open(*pool, 10, 10, 10);
  const auto other = Open(*pool, 90);
  Blocks blocks;
  EXPECT_EQ(TakeAll(*other, blocks), 90u);
  EXPECT_EQ(TakeAll(*fixed, blocks), 10u);
}

// A policy that replaces another needs its floor while the other has all.
TEST(BufferPoolTest, AFloorIsThereEvenIfItComesTooLate) {
  const auto pool = PoolOf(100);
  const auto other = Open(*pool, 100);
  Blocks blocks;
  EXPECT_EQ(TakeAll(*other, blocks), 100u);
  const auto fixed = Open(*pool, 10, 10, 10);
  Blocks late;
  EXPECT_EQ(TakeAll(*fixed, late), 10u);
  blocks.resize(95);
  EXPECT_EQ(other->Allocate(kPoolPage), nullptr);  // 90 are left for it
  blocks.resize(89);
  EXPECT_EQ(TakeAll(*other, blocks), 90u);
}

TEST(BufferPoolTest, FloorsThatFitNowhereAreRefused) {
  const auto pool = PoolOf(100);
  std::vector<std::unique_ptr<PoolShare>> shares;
  absl::StatusOr<std::unique_ptr<PoolShare>> made;
  const uint64_t floor = uint64_t{16} << 20;
  for (int i = 0; i < 10; ++i) {
    made = pool->Open({.name = "x", .guarantee = floor, .floor = floor});
    if (!made.ok()) break;
    shares.push_back(*std::move(made));
  }
  EXPECT_EQ(made.status().code(), absl::StatusCode::kResourceExhausted);
  shares.clear();
  EXPECT_TRUE(pool->Open({.guarantee = floor, .floor = floor}).ok());
}

TEST(BufferPoolTest, BlocksOutliveShareAndPool) {
  auto pool = PoolOf(10);
  auto share = Open(*pool, 10);
  Blocks blocks;
  TakeAll(*share, blocks);
  share.reset();
  EXPECT_EQ(pool->used(), 10 * kPoolPage);
  const auto next = Open(*pool, 10);
  EXPECT_EQ(next->Allocate(kPoolPage), nullptr);
  blocks.pop_back();
  EXPECT_NE(next->Allocate(kPoolPage), nullptr);
  pool.reset();
  static_cast<char*>(blocks[0]->pieces()[0].iov_base)[0] = 'x';
}

// What a share holds, to be given back.
class ShareUser {
 public:
  explicit ShareUser(std::unique_ptr<PoolShare> share)
      : share_(std::move(share)) {
    share_->Follow([this](uint64_t bytes) {
      MutexLock lock(mu_);
      asked_ += bytes;
      for (; bytes > 0 && !blocks_.empty(); bytes -= kPoolPage)
        blocks_.pop_back();
    });
  }
  bool Take() {
    auto block = share_->Allocate(kPoolPage);
    if (block == nullptr) return false;
    MutexLock lock(mu_);
    blocks_.push_back(std::move(block));
    return true;
  }
  void TakeAll() {
    while (Take()) {
    }
  }
  void LetGo() {
    MutexLock lock(mu_);
    if (!blocks_.empty()) blocks_.pop_back();
  }
  // Takes until it has that many pages. Others have to give back first.
  bool TakeUntil(uint64_t pages) {
    for (int tries = 0; tries < 10000 && this->pages() < pages; ++tries) {
      if (!Take()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return pages == this->pages();
  }
  uint64_t pages() const { return share_->used() / kPoolPage; }
  uint64_t asked() {
    MutexLock lock(mu_);
    return asked_ / kPoolPage;
  }

 private:
  const std::unique_ptr<PoolShare> share_;
  Mutex mu_;
  Blocks blocks_ ABSL_GUARDED_BY(mu_);
  uint64_t asked_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(BufferPoolTest, ABorrowerGivesBackWhatTheLenderWants) {
  const auto pool = PoolOf(100);
  ShareUser lender(Open(*pool, 50));
  ShareUser borrower(Open(*pool, 50));
  borrower.TakeAll();
  EXPECT_EQ(borrower.pages(), 100u);
  EXPECT_FALSE(lender.Take());
  EXPECT_TRUE(lender.TakeUntil(50));
  EXPECT_EQ(borrower.pages(), 50u);
  EXPECT_EQ(borrower.asked(), 50u);
  EXPECT_FALSE(borrower.Take());
  pool->Stop();
}

TEST(BufferPoolTest, WhoWantedIsToldThatThereIsRoom) {
  const auto pool = PoolOf(100);
  const auto lender = Open(*pool, 50);
  std::promise<void> told;
  lender->Follow([](uint64_t) {}, [&told] { told.set_value(); });
  ShareUser borrower(Open(*pool, 50));
  borrower.TakeAll();
  EXPECT_EQ(lender->Room(), 0u);
  told.get_future().get();
  EXPECT_EQ(lender->Room(), 50 * kPoolPage);
  pool->Stop();
}

// Also if it was short just after others had been asked, and never asks again.
TEST(BufferPoolTest, EachWhoWantedIsToldThatThereIsRoom) {
  const auto pool = PoolOf(100);
  const auto first = Open(*pool, 30);
  const auto second = Open(*pool, 30);
  std::promise<void> first_told;
  std::promise<void> second_told;
  first->Follow([](uint64_t) {}, [&first_told] { first_told.set_value(); });
  second->Follow([](uint64_t) {}, [&second_told] { second_told.set_value(); });
  ShareUser borrower(Open(*pool, 40));
  borrower.TakeAll();
  Blocks blocks;
  EXPECT_EQ(first->Room(), 0u);
  first_told.get_future().get();
  while (first->used() < 30 * kPoolPage) {
    blocks.push_back(first->Allocate(kPoolPage));
    ASSERT_NE(blocks.back(), nullptr);
  }
  EXPECT_EQ(second->Room(), 0u);
  second_told.get_future().get();
  EXPECT_EQ(second->Room(), 30 * kPoolPage);
  pool->Stop();
}

// A policy replaces another while a third one has borrowed all.
TEST(BufferPoolTest, WhatAFloorTakesBeyondThePoolIsGivenBack) {
  const auto pool = PoolOf(100);
  ShareUser borrower(Open(*pool, 50));
  borrower.TakeAll();
  const auto second = Open(*pool, 50, /*floor=*/20);
  Blocks blocks;
  for (int page = 0; page < 20; ++page) {
    blocks.push_back(second->Allocate(kPoolPage));
    ASSERT_NE(blocks.back(), nullptr);
  }
  for (int tries = 0; tries < 10000 && pool->used() > pool->capacity();
       ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(pool->used(), pool->capacity());
  pool->Stop();
}

TEST(BufferPoolTest, NobodyIsAskedForWhatIsGuaranteedAndInUse) {
  const auto pool = PoolOf(100);
  ShareUser first(Open(*pool, 100));
  ShareUser second(Open(*pool, 100));
  first.TakeAll();
  EXPECT_FALSE(second.Take());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(second.Take());
  EXPECT_EQ(first.asked(), 0u);
  pool->Stop();
}

// A policy replaced another, which holds what nobody reads any more.
TEST(BufferPoolTest, AnIdleShareMakesRoomIfGuaranteesExceedThePool) {
  const auto pool = PoolOf(100, /*stays_active=*/false);
  ShareUser before(Open(*pool, 100));
  ShareUser now(Open(*pool, 100));
  before.TakeAll();
  EXPECT_TRUE(now.TakeUntil(100));
  EXPECT_EQ(before.pages(), 0u);
  pool->Stop();
}

TEST(BufferPoolTest, AfterStopNobodyIsAsked) {
  const auto pool = PoolOf(100);
  ShareUser lender(Open(*pool, 50));
  ShareUser borrower(Open(*pool, 50));
  borrower.TakeAll();
  pool->Stop();
  EXPECT_FALSE(lender.Take());
  EXPECT_EQ(borrower.asked(), 0u);
}

// Many threads take and let go. The bound holds at every moment, and in the end
// each share can have what it is guaranteed.
TEST(BufferPoolTest, RandomUseNeverExceedsTheBound) {
  constexpr int kShares = 4;
  const auto pool = PoolOf(200, /*stays_active=*/false);
  std::vector<std::unique_ptr<ShareUser>> holders;
  for (int i = 0; i < kShares; ++i) {
    holders.push_back(std::make_unique<ShareUser>(Open(*pool, 50, 5 * i)));
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < kShares; ++i) {
    threads.emplace_back([&, i] {
      Rng rng{RandomKey(i)};
      for (int step = 0; step < 20000; ++step) {
        if (rng.Bounded(5) < 3) {
          holders[i]->Take();
        } else {
          holders[i]->LetGo();
        }
        ASSERT_LE(pool->used(), 200 * kPoolPage);
      }
    });
  }
  threads.clear();
  for (const auto& holder : holders) {
    if (holder->pages() < 50) EXPECT_TRUE(holder->TakeUntil(50));
  }
  EXPECT_LE(pool->used(), 200 * kPoolPage);
  pool->Stop();
}

TEST(PoolMemoryTest, TheLeastMemoryGuaranteesJustThat) {
  for (const uint64_t guarantee :
       {uint64_t{2} << 20, uint64_t{14} << 20, uint64_t{100} << 20}) {
    for (const size_t views : {1, 2, 8}) {
      const uint64_t memory = MemoryFor(guarantee, views);
      EXPECT_GE(GuaranteeOf(memory, views), guarantee);
      EXPECT_LT(GuaranteeOf(memory - views * 2 * kPoolPage, views), guarantee);
    }
  }
}

TEST(PoolMemoryTest, WhatIsReservedIsNotGuaranteedToThePool) {
  PoolMemory memory{PoolOf(100), nullptr, 100 * kPoolPage, "a"};
  const auto reserved = *memory.Reserve(30 * kPoolPage);
  EXPECT_EQ(memory.guarantee, 70 * kPoolPage);
  const auto share = *memory.pool->Open({.guarantee = memory.guarantee});
  Blocks blocks;
  EXPECT_EQ(TakeAll(*share, blocks), 70u);
}

}  // namespace
}  // namespace shufflefs
