// SPDX-License-Identifier: Apache-2.0
#include "core/base/worker.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/base/thread_names.h"

namespace shufflefs {
namespace {

using Turn = const absl::Status&;
using testing_support::ThreadsNamed;

TEST(WorkerTest, UrgentJobsComeFirstAndTheOthersInTheirOrder) {
  Worker worker("test", 1);
  std::promise<void> go_on;
  std::promise<void> done;
  std::string order;
  worker.Post([&](Turn) { go_on.get_future().wait(); }, /*urgent=*/false);
  worker.Post([&](Turn) { order += 'a'; }, /*urgent=*/false);
  worker.Post([&](Turn) { order += 'b'; }, /*urgent=*/false);
  worker.Post([&](Turn) { order += 'U'; }, /*urgent=*/true);
  worker.Post([&](Turn) { done.set_value(); }, /*urgent=*/false);
  go_on.set_value();
  done.get_future().wait();
  EXPECT_EQ(order, "Uab");
}

TEST(WorkerTest, AJobMayPostAnother) {
  Worker worker("test", 1);
  std::promise<void> done;
  worker.Post(
      [&](Turn) {
        worker.Post([&](Turn) { done.set_value(); }, /*urgent=*/false);
      },
      /*urgent=*/true);
  done.get_future().wait();
}

// Each job ends when the last has begun.
TEST(WorkerTest, MoreThreadsAreStartedWhenAJobWouldWaitForThem) {
  Worker worker("sfs-demanded", 3);
  std::promise<void> all_begun;
  std::shared_future<void> go_on = all_begun.get_future().share();
  std::atomic<int> ended{0};
  EXPECT_EQ(ThreadsNamed("sfs-demanded"), 1);
  for (int i = 0; i < 2; ++i) {
    worker.Post([&, go_on](Turn) { go_on.wait(), ++ended; }, /*urgent=*/i == 0);
  }
  EXPECT_EQ(ThreadsNamed("sfs-demanded", 2), 2);
  worker.Post([&](Turn) { all_begun.set_value(), ++ended; }, /*urgent=*/false);
  while (ended < 3) std::this_thread::yield();
  std::promise<void> done;
  worker.Post([&](Turn) { done.set_value(); }, /*urgent=*/false);
  done.get_future().wait();
  EXPECT_EQ(ThreadsNamed("sfs-demanded", 3), 3);
}

TEST(WorkerTest, WhatWaitsWhenItStopsIsCancelledOnce) {
  Worker worker("test", 1);
  std::promise<void> begun;
  std::promise<void> go_on;
  std::promise<void> stops;
  std::vector<absl::Status> turns;
  worker.Post(
      [&](Turn turn) {
        EXPECT_TRUE(turn.ok());
        begun.set_value();
        go_on.get_future().wait();
      },
      /*urgent=*/false);
  begun.get_future().wait();
  // Of the thread that stops it, one after the other.
  const auto note = [&](Turn turn) { turns.push_back(turn); };
  worker.Post(note, /*urgent=*/false);
  worker.Post(
      [&](Turn turn) {
        note(turn);
        worker.Post(note, /*urgent=*/true);
        stops.set_value();
      },
      /*urgent=*/true);
  std::thread stop([&] { worker.Stop(); });
  // While another is still being done.
  EXPECT_EQ(stops.get_future().wait_for(std::chrono::seconds(10)),
            std::future_status::ready);
  go_on.set_value();
  stop.join();
  EXPECT_EQ(turns.size(), 3u);
  worker.Post(note, /*urgent=*/true);
  EXPECT_EQ(turns.size(), 4u);
  for (const absl::Status& turn : turns) {
    EXPECT_EQ(turn.code(), absl::StatusCode::kCancelled) << turn;
  }
}

}  // namespace
}  // namespace shufflefs
