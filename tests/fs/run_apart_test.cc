// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/run_apart.h"

#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr std::chrono::milliseconds kLong{60000};

TEST(RunApartTest, ReturnsWhatTheWorkSays) {
  EXPECT_EQ(RunApart([] { return std::string("a\0b", 3); }, kLong),
            std::string("a\0b", 3));
  EXPECT_EQ(RunApart([]() -> std::string { _exit(3); }, kLong), absl::nullopt);
}

// What the mount of another user says may have no end.
TEST(RunApartTest, HasABound) {
  const auto length = [](size_t bytes) {
    const auto text = RunApart([&] { return std::string(bytes, 'x'); }, kLong);
    return text ? text->size() : 0;
  };
  EXPECT_EQ(length(kMostApart), kMostApart);
  EXPECT_EQ(length(kMostApart + 1), 0u);
}

}  // namespace
}  // namespace shufflefs
