// SPDX-License-Identifier: Apache-2.0
#include "fs/model/held_memory.h"

#include <cerrno>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uid_t kOwner = 1000;
using Parts = std::vector<std::shared_ptr<const HeldMemory::Part>>;

// How many parts of 10 bytes the user gets, up to 100.
size_t Fill(HeldMemory& memory, uid_t user, Parts& parts) {
  for (size_t got = 0; got < 100; ++got) {
    auto part = memory.Take(user, 10);
    if (!part.ok()) {
      EXPECT_EQ(ErrnoOf(part.status()), ENFILE);
      return got;
    }
    parts.push_back(*std::move(part));
  }
  return 100;
}

TEST(HeldMemoryTest, AUserAndAllUsersHaveTheirLimits) {
  HeldMemory memory(kOwner, {/*of_user=*/95, /*of_all=*/145});
  Parts first, second, third;
  EXPECT_EQ(Fill(memory, 1, first), 10u);  // the last goes beyond it
  EXPECT_EQ(Fill(memory, 2, second), 5u);
  EXPECT_EQ(Fill(memory, 3, third), 0u);
  first.clear();
  EXPECT_EQ(Fill(memory, 3, third), 10u);
  second.pop_back();
  EXPECT_EQ(Fill(memory, 2, second), 1u);
}

TEST(HeldMemoryTest, RootAndTheOwnerHaveNone) {
  HeldMemory memory(kOwner, {95, 145});
  Parts root, owner, other;
  EXPECT_EQ(Fill(memory, 0, root), 100u);
  EXPECT_EQ(Fill(memory, kOwner, owner), 100u);
  EXPECT_EQ(Fill(memory, 1, other), 10u);
}

TEST(HeldMemoryTest, OneTextMayBeLargerThanTheLimit) {
  HeldMemory memory(kOwner, {95, 145});
  const auto order = memory.Take(1, 5000);
  EXPECT_TRUE(order.ok());
  EXPECT_FALSE(memory.Take(1, 1).ok());
}

TEST(HeldMemoryTest, APartMayOutliveIt) {
  auto memory = std::make_unique<HeldMemory>(kOwner);
  const auto part = memory->Take(1, 10);
  memory.reset();
  EXPECT_TRUE(part.ok());
}

}  // namespace
}  // namespace shufflefs
