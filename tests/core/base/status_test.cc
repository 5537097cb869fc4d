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

TEST(StatusTest, AnErrnoSaysWhatToDoUnlessTheErrorDoes) {
  const absl::Status full = ErrnoStatus(ENOSPC, "pack/chunk");
  const absl::Status told = WithNextOfErrno(full);
  EXPECT_EQ(told.message(),
            "pack/chunk: No space left on device; free space there, then run "
            "the same command again");
  EXPECT_EQ(ErrnoOf(told), ENOSPC);
  EXPECT_EQ(WithNextOfErrno(told), told);  // once
  const absl::Status own = WithNext(full, "give another DEST");
  EXPECT_EQ(WithNextOfErrno(Annotate(own, "pack")).message(),
            "pack: pack/chunk: No space left on device; give another DEST");
  const absl::Status other = absl::InvalidArgumentError("--seed: no number");
  EXPECT_EQ(WithNextOfErrno(other), other);
  EXPECT_TRUE(WithNextOfErrno(absl::OkStatus()).ok());
}

TEST(StatusTest, EveryErrnoHasANextStep) {
  for (int error = 1; error < 200; ++error) {
    EXPECT_NE(WithNextOfErrno(ErrnoStatus(error, "x")).message(),
              ErrnoStatus(error, "x").message());
  }
}

}  // namespace
}  // namespace shufflefs
