// SPDX-License-Identifier: Apache-2.0
#include "fs/model/last_answer.h"

#include <atomic>
#include <future>
#include <thread>

#include "core/base/status.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(LastAnswerTest, IsWhatTheSourceSaysNow) {
  int value = 1;
  LastAnswer<int> answer([&]() -> absl::StatusOr<int> {
    if (value == 3) return ErrnoStatus(ENOENT, "gone");
    return value;
  });
  Worker worker("test", 1);
  EXPECT_EQ(*answer.Get(worker), 1);
  value = 2;
  EXPECT_EQ(*answer.Get(worker), 2);
  value = 3;
  EXPECT_EQ(ErrnoOf(answer.Get(worker).status()), ENOENT);
  value = 4;
  EXPECT_EQ(*answer.Get(worker), 4);
}

// [S-3.15k] While reads of the source hang, all that needs none of them is
// answered.
TEST(LastAnswerTest, IsWhatItSaidLastWhileItHangs) {
  std::atomic<int> asked{0};
  std::promise<void> answers;
  std::shared_future<void> hangs = answers.get_future().share();
  LastAnswer<int> answer([&, hangs]() -> absl::StatusOr<int> {
    const int number = ++asked;
    if (number == 3) hangs.wait();
    return number;
  });
  Worker worker("test", 1);
  EXPECT_EQ(*answer.Get(worker), 2);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*answer.Get(worker), 2);
  EXPECT_EQ(asked, 3);  // one asks for all
  answers.set_value();
  while (*answer.Get(worker) == 2) std::this_thread::yield();
  EXPECT_GE(*answer.Get(worker), 4);
}

}  // namespace
}  // namespace shufflefs
