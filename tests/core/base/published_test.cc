// SPDX-License-Identifier: Apache-2.0
#include "core/base/published.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(PublishedTest, IsNullBeforeTheFirstAndThenTheLast) {
  Published<int> published;
  EXPECT_EQ(published.Get(), nullptr);
  published.Set(std::make_shared<const int>(1));
  published.Set(std::make_shared<const int>(2));
  EXPECT_EQ(*published.Get(), 2);
}

TEST(PublishedTest, WhatWasReplacedLivesOnlyAsLongAsItIsUsed) {
  Published<int> published;
  auto first = std::make_shared<const int>(1);
  const std::weak_ptr<const int> gone = first;
  published.Set(std::move(first));
  std::shared_ptr<const int> used = published.Get();
  // One more thread has looked, and never will again.
  std::thread([&] { published.Get(); }).join();
  published.Set(nullptr);
  EXPECT_EQ(*used, 1);
  EXPECT_FALSE(gone.expired());
  used.reset();
  EXPECT_TRUE(gone.expired());
}

// Whatever one thread has seen no other thread sees the value before it later.
TEST(PublishedTest, NoThreadIsGivenAValueOfBefore) {
  constexpr int kValues = 2000;
  Published<int> published;
  published.Set(std::make_shared<const int>(0));
  std::atomic<int> seen{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 8; ++t) {
    readers.emplace_back([&] {
      for (int last = 0; last < kValues;) {
        const int before = seen;
        last = *published.Get();
        ASSERT_GE(last, before);
        int latest = seen;
        while (latest < last && !seen.compare_exchange_weak(latest, last)) {
        }
      }
    });
  }
  for (int value = 1; value <= kValues; ++value) {
    published.Set(std::make_shared<const int>(value));
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace shufflefs
