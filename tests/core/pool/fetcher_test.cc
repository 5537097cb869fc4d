// SPDX-License-Identifier: Apache-2.0
#include "core/pool/fetcher.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A fetcher of numbered items with room for so many in each lane.
class FetcherTest : public ::testing::Test {
 protected:
  void Make(size_t lanes, bool in_order = true) {
    room_.assign(lanes, 0);
    fetcher_ = std::make_unique<Fetcher<int>>(
        lanes, Fetcher<int>::Hooks{.take_room =
                                       [this](size_t lane, int&) {
                                         if (room_[lane] == 0) return false;
                                         --room_[lane];
                                         return true;
                                       },
                                   .begin =
                                       [this](const std::vector<int>& items) {
                                         calls_.push_back(items);
                                         if (on_begin_) on_begin_();
                                       },
                                   .in_order = in_order});
  }
  void Add(size_t lane, std::vector<int> items, bool urgent = false) {
    ASSERT_TRUE(fetcher_->Add(lane, items, urgent));
  }
  void SetRoom(std::vector<int> room) {
    room_ = std::move(room);
    fetcher_->Pump();
  }

  std::vector<int> room_;
  std::vector<std::vector<int>> calls_;
  std::function<void()> on_begin_;
  std::unique_ptr<Fetcher<int>> fetcher_;
};

TEST_F(FetcherTest, BeginsInOrderAsRoomComes) {
  Make(1);
  Add(0, {1, 2, 3});
  fetcher_->Pump();
  EXPECT_THAT(calls_, IsEmpty());
  SetRoom({2});
  SetRoom({2});
  EXPECT_THAT(calls_, ElementsAre(ElementsAre(1, 2), ElementsAre(3)));
}

TEST_F(FetcherTest, UrgentItemsBeginFirst) {
  Make(1);
  Add(0, {1, 2});
  Add(0, {3}, /*urgent=*/true);
  SetRoom({3});
  EXPECT_THAT(calls_, ElementsAre(ElementsAre(3, 1, 2)));
}

TEST_F(FetcherTest, NothingPassesAnUrgentItemOfItsLane) {
  Make(1);
  Add(0, {1});
  Add(0, {2}, /*urgent=*/true);
  SetRoom({1});
  EXPECT_THAT(calls_, ElementsAre(ElementsAre(2)));
}

TEST_F(FetcherTest, WhatBeginsAgainIsFirst) {
  Make(1);
  Add(0, {3, 4});
  std::vector<int> again{1, 2};
  ASSERT_TRUE(fetcher_->AddFirst(0, again, /*urgent=*/false));
  SetRoom({4});
  EXPECT_THAT(calls_, ElementsAre(ElementsAre(1, 2, 3, 4)));
}

TEST_F(FetcherTest, ALaneWithoutRoomStopsNoOther) {
  Make(2);
  Add(0, {1, 2}, /*urgent=*/true);
  Add(1, {3, 4});
  SetRoom({0, 2});
  EXPECT_THAT(calls_, ElementsAre(ElementsAre(3, 4)));
}

TEST_F(FetcherTest, LanesTakeTurns) {
  Make(2);
  Add(0, {1, 2});
  Add(1, {3, 4});
  SetRoom({2, 2});
  EXPECT_THAT(calls_, ElementsAre(ElementsAre(1, 3, 2, 4)));
}

TEST_F(FetcherTest, WithoutOrderItemsBeginOneByOne) {
  Make(1, /*in_order=*/false);
  Add(0, {1, 2});
  SetRoom({2});
  EXPECT_THAT(calls_, ElementsAre(ElementsAre(1), ElementsAre(2)));
}

TEST_F(FetcherTest, ABeginMayFreeRoomAndPump) {
  Make(1);
  on_begin_ = [this] {
    if (calls_.size() > 2) return;
    ++room_[0];
    const size_t before = calls_.size();
    fetcher_->Pump();
    EXPECT_EQ(calls_.size(), before);  // the thread that began it goes on
  };
  Add(0, {1, 2, 3});
  SetRoom({1});
  EXPECT_THAT(calls_,
              ElementsAre(ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

TEST_F(FetcherTest, AfterStopNothingIsAddedOrBegins) {
  Make(1);
  Add(0, {1, 2});
  EXPECT_THAT(fetcher_->Stop(), ElementsAre(1, 2));
  std::vector<int> more{3};
  EXPECT_FALSE(fetcher_->Add(0, more, /*urgent=*/false));
  EXPECT_FALSE(fetcher_->AddFirst(0, more, /*urgent=*/false));
  EXPECT_THAT(more, ElementsAre(3));
  SetRoom({3});
  EXPECT_THAT(calls_, IsEmpty());
  fetcher_->Wait();
}

TEST_F(FetcherTest, WaitWaitsForTheThreadThatBegins) {
  Make(1);
  std::atomic<bool> inside{false};
  std::atomic<bool> released{false};
  on_begin_ = [&] {
    inside = true;
    while (!released) std::this_thread::yield();
  };
  Add(0, {1});
  room_[0] = 1;
  std::thread pump([this] { fetcher_->Pump(); });
  while (!inside) std::this_thread::yield();
  std::atomic<bool> waited{false};
  std::thread wait([&] {
    fetcher_->Wait();
    EXPECT_TRUE(released);
    waited = true;
  });
  EXPECT_FALSE(waited);
  released = true;
  pump.join();
  wait.join();
}

struct Item {
  int thread = 0;
  int number = 0;
  size_t lane = 0;
};

// Threads add items of random lanes, and end those that have begun.
class FetcherThreadsTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kLanes = 3;
  static constexpr int kThreads = 4;
  static constexpr int kItems = 3000;  // of each thread
  static constexpr int kRoom = 5;      // of each lane

  bool TakeRoom(size_t lane) {
    if (used_[lane] >= kRoom) return false;
    EXPECT_LE(++used_[lane], kRoom);
    return true;
  }
  void Begin(const std::vector<Item>& items) {
    MutexLock lock(mu_);
    for (const Item& item : items) {
      begun_.push_back(item);
      under_way_.push_back(item);
    }
  }
  // Ends one read. Returns false if there is none.
  bool EndOne() {
    size_t lane = 0;
    {
      MutexLock lock(mu_);
      if (under_way_.empty()) return false;
      lane = under_way_.back().lane;
      under_way_.pop_back();
    }
    --used_[lane];
    fetcher_.Pump();
    return true;
  }
  void AddAll(int thread) {
    std::mt19937 random(100 + thread);
    for (int i = 0; i < kItems; ++i) {
      Item item{thread, i, random() % kLanes};
      EXPECT_TRUE(fetcher_.Add(item.lane, item, /*urgent=*/false));
      fetcher_.Pump();
      if (random() % 2 == 0) EndOne();
    }
  }

  std::atomic<int> used_[kLanes] = {};
  Fetcher<Item> fetcher_{
      kLanes,
      {.take_room = [this](size_t lane, Item&) { return TakeRoom(lane); },
       .begin = [this](const std::vector<Item>& items) { Begin(items); },
       .in_order = GetParam()}};
  Mutex mu_;
  std::vector<Item> begun_ ABSL_GUARDED_BY(mu_);
  std::vector<Item> under_way_ ABSL_GUARDED_BY(mu_);
};

// If it is asked for, items of a thread and a lane begin in their order, too.
TEST_P(FetcherThreadsTest, EachItemBeginsOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] { AddAll(t); });
  }
  for (std::thread& thread : threads) thread.join();
  while (EndOne()) {
  }
  EXPECT_THAT(fetcher_.Stop(), IsEmpty());
  MutexLock lock(mu_);
  ASSERT_EQ(begun_.size(), size_t{kThreads} * kItems);
  std::vector<std::vector<int>> last(kThreads, std::vector<int>(kLanes, -1));
  std::vector<std::vector<bool>> seen(kThreads, std::vector<bool>(kItems));
  for (const Item& item : begun_) {
    EXPECT_FALSE(seen[item.thread][item.number]);
    seen[item.thread][item.number] = true;
    if (!GetParam()) continue;
    EXPECT_LT(last[item.thread][item.lane], item.number);
    last[item.thread][item.lane] = item.number;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, FetcherThreadsTest, ::testing::Bool(),
                         [](const auto& param) {
                           return std::string(param.param ? "InOrder" : "Free");
                         });

}  // namespace
}  // namespace shufflefs
