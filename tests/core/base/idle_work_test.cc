// SPDX-License-Identifier: Apache-2.0
#include "core/base/idle_work.h"

#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

// Where tasks leave word.
struct Done {
  void Slice(uint64_t slice) {
    MutexLock lock(mu);
    slices.insert(slice);
  }
  void End() {
    MutexLock lock(mu);
    ++ended;
    changed.SignalAll();
  }
  void WaitFor(int ends) {
    MutexLock lock(mu);
    while (ended < ends) changed.Wait(mu);
  }
  Mutex mu;
  CondVar changed;
  std::multiset<uint64_t> slices;
  int ended = 0;
};

TEST(IdleWorkTest, EverySliceIsDoneOnce) {
  Done done;
  IdleWork work(3);
  ASSERT_TRUE(work.Begin({.slices = 100,
                          .slice =
                              [&](uint64_t slice, const std::atomic<bool>&) {
                                done.Slice(slice);
                                return false;
                              },
                          .ended = [&] { done.End(); }}));
  done.WaitFor(1);
  EXPECT_EQ(done.slices.size(), 100u);
  EXPECT_EQ(std::set<uint64_t>(done.slices.begin(), done.slices.end()).size(),
            100u);
  EXPECT_FALSE(work.progress());
}

TEST(IdleWorkTest, OneAtATimeAndTheNextAfterIt) {
  Done done;
  IdleWork work(2);
  std::atomic<bool> go = false;
  const auto task = [&] {
    return IdleWork::Task{.slices = 4,
                          .slice =
                              [&](uint64_t, const std::atomic<bool>&) {
                                while (!go) std::this_thread::yield();
                                return false;
                              },
                          .ended = [&] { done.End(); }};
  };
  ASSERT_TRUE(work.Begin(task()));
  EXPECT_FALSE(work.Begin(task()));
  EXPECT_TRUE(work.progress());
  go = true;
  done.WaitFor(1);
  ASSERT_TRUE(work.Begin(task()));
  done.WaitFor(2);
}

TEST(IdleWorkTest, WhatOneSliceFoundEndsTheTask) {
  Done done;
  IdleWork work(2);
  ASSERT_TRUE(work.Begin(
      {.slices = uint64_t{1} << 40,
       .slice = [](uint64_t slice,
                   const std::atomic<bool>&) { return slice == 1000; },
       .ended = [&] { done.End(); }}));
  done.WaitFor(1);
  EXPECT_EQ(done.ended, 1);
}

TEST(IdleWorkTest, ItStopsInTheMiddle) {
  std::atomic<int> ended = 0;
  {
    IdleWork work(2);
    std::atomic<bool> began = false;
    ASSERT_TRUE(work.Begin({.slices = 2,
                            .slice =
                                [&](uint64_t, const std::atomic<bool>& over) {
                                  began = true;
                                  while (!over) std::this_thread::yield();
                                  return false;
                                },
                            .ended = [&] { ++ended; }}));
    while (!began) std::this_thread::yield();
    work.Stop();
    EXPECT_FALSE(work.Begin({.slices = 1, .slice = {}, .ended = {}}));
  }
  EXPECT_EQ(ended, 0);
}

TEST(IdleWorkTest, WhatIsGivenUpEndsAndAnotherMayBegin) {
  Done done;
  IdleWork work(2);
  for (int round = 1; round <= 50; ++round) {
    ASSERT_TRUE(work.Begin(
        {.slices = uint64_t{1} << 40,
         .slice = [](uint64_t, const std::atomic<bool>&) { return false; },
         .ended = [&] { done.End(); }}));
    // Before a thread came, between two slices, or in one.
    if (round % 2 == 0) std::this_thread::yield();
    work.GiveUp();
    work.GiveUp();
    done.WaitFor(round);
  }
  EXPECT_EQ(done.ended, 50);
  work.GiveUp();
  EXPECT_FALSE(work.progress());
}

TEST(IdleWorkTest, WithoutThreadsNothingBegins) {
  IdleWork work(0);
  EXPECT_FALSE(work.Begin({.slices = 1, .slice = {}, .ended = {}}));
}

}  // namespace
}  // namespace shufflefs
