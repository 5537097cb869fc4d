// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <future>
#include <string>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(WorkerTest, UrgentJobsComeFirstAndTheOthersInTheirOrder) {
  Worker worker("test", 1);
  std::promise<void> go_on;
  std::promise<void> done;
  std::string order;
  worker.Post([&] { go_on.get_future().wait(); }, /*urgent=*/false);
  worker.Post([&] { order += 'a'; }, /*urgent=*/false);
  worker.Post([&] { order += 'b'; }, /*urgent=*/false);
  worker.Post([&] { order += 'U'; }, /*urgent=*/true);
  worker.Post([&] { done.set_value(); }, /*urgent=*/false);
  go_on.set_value();
  done.get_future().wait();
  EXPECT_EQ(order, "Uab");
}

TEST(WorkerTest, AJobMayPostAnother) {
  Worker worker("test", 1);
  std::promise<void> done;
  worker.Post([&] { worker.Post([&] { done.set_value(); }, /*urgent=*/false); },
              /*urgent=*/true);
  done.get_future().wait();
}

TEST(WorkerTest, WhatWaitsWhenItStopsIsDropped) {
  Worker worker("test", 1);
  std::promise<void> begun;
  std::promise<void> go_on;
  auto waits = std::make_shared<int>(0);
  worker.Post(
      [&] {
        begun.set_value();
        go_on.get_future().wait();
      },
      /*urgent=*/false);
  begun.get_future().wait();
  worker.Post([waits] { ++*waits; }, /*urgent=*/false);
  std::thread stop([&] { worker.Stop(); });
  while (waits.use_count() > 1) std::this_thread::yield();
  go_on.set_value();
  stop.join();
  worker.Post([waits] { ++*waits; }, /*urgent=*/true);
  EXPECT_EQ(*waits, 0);
  EXPECT_EQ(waits.use_count(), 1);
}

}  // namespace
}  // namespace shufflefs
