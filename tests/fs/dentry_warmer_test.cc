// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_cache/dentry_warmer.h"

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

// The kernel hides the pid of readers in another container. Their listings must
// not bind names.
TEST(DentryWarmerTest, AHiddenReaderDoesNotPrime) {
  const DentryWarmer warmer;
  EXPECT_FALSE(warmer.IsPriming(0));
}

}  // namespace
}  // namespace shufflefs
