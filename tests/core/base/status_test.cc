// SPDX-License-Identifier: Apache-2.0
#include "core/base/status.h"

#include <cerrno>
#include <string>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(StatusTest, AnErrnoGivesCodeTextAndPayload) {
  const absl::Status status = ErrnoStatus(ENOENT, "a/b.png");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "a/b.png: No such file or directory");
  EXPECT_EQ(ErrnoOf(status), ENOENT);
}

TEST(StatusTest, AnErrnoThatNobodyKnowsIsNamedByItsNumber) {
  const absl::Status status = ErrnoStatus(99999, "read");
  EXPECT_EQ(status.message(), "read: Unknown error 99999");
  EXPECT_EQ(ErrnoOf(status), 99999);
}

TEST(StatusTest, AnAnnotatedStatusKeepsItsErrno) {
  const absl::Status status = Annotate(ErrnoStatus(EIO, "statx"), "a");
  EXPECT_EQ(status.message(), "a: statx: Input/output error");
  EXPECT_EQ(ErrnoOf(status), EIO);
  EXPECT_TRUE(Annotate(absl::OkStatus(), "a").ok());
  const absl::Status told = WithNext(status, "try again");
  EXPECT_EQ(told.message(), "a: statx: Input/output error; try again");
  EXPECT_EQ(ErrnoOf(told), EIO);
  EXPECT_TRUE(WithNext(absl::OkStatus(), "try again").ok());
  EXPECT_FALSE(ErrnoOf(absl::InternalError("no errno")).has_value());
}

}  // namespace
}  // namespace shufflefs
