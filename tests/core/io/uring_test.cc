// SPDX-License-Identifier: Apache-2.0
#include "core/io/uring.h"

#include <set>

#include "core/base/status.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(UringTest, MoreCallsThanEntriesAreSubmittedOnTheWay) {
  absl::StatusOr<std::unique_ptr<Uring>> ring = Uring::Make(4, 1);
  if (!ring.ok()) {  // a sandbox without io_uring: then nothing uses it
    EXPECT_TRUE(ErrnoOf(ring.status()).has_value()) << ring.status();
    return;
  }
  constexpr uint64_t kCalls = 1000;
  for (uint64_t tag = 1; tag <= kCalls; ++tag) {
    io_uring_sqe* const entry = (*ring)->Next();
    ASSERT_NE(entry, nullptr) << tag;
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data64(entry, tag);
  }
  EXPECT_EQ((*ring)->pending(), kCalls);
  std::set<uint64_t> ended;
  while ((*ring)->pending() > 0) {
    for (const Completion& completion : (*ring)->SubmitAndWait()) {
      EXPECT_EQ(completion.result, 0);
      EXPECT_TRUE(ended.insert(completion.tag).second) << completion.tag;
    }
  }
  EXPECT_EQ(ended.size(), kCalls);
}

}  // namespace
}  // namespace shufflefs
