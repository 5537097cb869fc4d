// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/task_threads.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(TaskThreadsTest, ThoseThatHaveEndedAreJoined) {
  TaskThreads threads;
  std::promise<void> go_on;
  threads.Start("test-waits",
                [&](std::stop_token) { go_on.get_future().wait(); });
  for (int i = 0; i < 20; ++i)
    threads.Start("test-ends", [](std::stop_token) {});
  while (threads.Running() > 1) std::this_thread::yield();
  EXPECT_EQ(threads.Running(), 1u);
  go_on.set_value();
  while (threads.Running() > 0) std::this_thread::yield();
}

TEST(TaskThreadsTest, WhatATaskHasCapturedGoesWithIt) {
  TaskThreads threads;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> weak = held;
  threads.Start("test", [held = std::move(held)](std::stop_token) {});
  while (threads.Running() > 0) std::this_thread::yield();
  EXPECT_TRUE(weak.expired());
}

TEST(TaskThreadsTest, TheEndStopsThem) {
  TaskThreads threads;
  std::promise<void> stopped;
  threads.Start("test", [&](std::stop_token stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    stopped.set_value();
  });
  threads.Stop();
  EXPECT_EQ(stopped.get_future().wait_for(std::chrono::seconds(0)),
            std::future_status::ready);
  EXPECT_EQ(threads.Running(), 0u);
}

}  // namespace
}  // namespace shufflefs
