// SPDX-License-Identifier: Apache-2.0
// A token that comes in several writes.
#include "fs/control/token_parts.h"

#include "gmock/gmock.h"

namespace shufflefs {
namespace {

TEST(TokenPartsTest, ALongTokenIsWholeAfterItsLastPart) {
  std::string token;
  for (int i = 0; token.size() < 3 * TokenParts::kPart - 5; ++i) {
    token += std::to_string(i);
  }
  ASSERT_EQ(TokenParts::Count(token), 3u);
  TokenParts parts;
  for (int again = 0; again < 2; ++again) {
    for (uint64_t number = 1; number <= 3; ++number) {
      const std::string part = TokenParts::Part(token, number);
      EXPECT_LT(part.size(), size_t{64} << 10);
      const auto whole = parts.Take(part);
      ASSERT_TRUE(whole.ok()) << whole.status();
      EXPECT_EQ(whole->has_value(), number == 3);
      if (number == 3) {
        EXPECT_EQ(**whole, token);
      }
    }
  }
}

TEST(TokenPartsTest, WhatIsNoPartIsWhole) {
  TokenParts parts;
  EXPECT_EQ(*parts.Take("a line\n"), "a line\n");
}

TEST(TokenPartsTest, PartsThatDoNotFollowAreRefusedAndForgotten) {
  TokenParts parts;
  for (const char* wrong : {"part 2 of 3\nx", "part 1 of 0\nx", "part 1\nx",
                            "part one of 2\nx", "part 1 of 2", "part \n"}) {
    EXPECT_FALSE(parts.Take(wrong).ok()) << wrong;
  }
  EXPECT_TRUE(parts.Take("part 1 of 3\nx").ok());
  EXPECT_FALSE(parts.Take("part 3 of 3\nz").ok());
  EXPECT_FALSE(parts.Take("part 2 of 3\ny").ok());
}

}  // namespace
}  // namespace shufflefs
