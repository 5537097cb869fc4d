// SPDX-License-Identifier: Apache-2.0
#include "core/source/file_check.h"

#include <fcntl.h>

#include <cerrno>

#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

// Each part of an identity by itself: where a file is rewritten most of them
// change together, and one that is not compared would not be missed.
TEST(CheckUnchangedTest, EachPartOfAnIdentityIsCompared) {
  testing_support::TempTree tree;
  tree.File("f", "content");
  const Catalogue catalogue = tree.Scanned();
  const FileAttributes known = catalogue.attributes(*catalogue.FindPath("f"));
  const UniqueFd fd(open(tree.At("f").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(CheckUnchanged(fd.get(), known), absl::OkStatus());
  const auto refused = [&](auto change) {
    FileAttributes other = known;
    change(other);
    return ErrnoOf(CheckUnchanged(fd.get(), other));
  };
  EXPECT_EQ(refused([](auto& other) { ++other.size; }), ESTALE) << "shrank";
  EXPECT_EQ(refused([](auto& other) { --other.size; }), ESTALE) << "grew";
  EXPECT_EQ(refused([](auto& other) { ++other.mtime_ns; }), ESTALE);
  EXPECT_EQ(refused([](auto& other) { --other.mtime_ns; }), ESTALE);
  EXPECT_EQ(refused([](auto& other) { ++other.ctime_ns; }), ESTALE);
  EXPECT_EQ(refused([](auto& other) { --other.ctime_ns; }), ESTALE);
  EXPECT_EQ(refused([](auto& other) { ++other.inode; }), ESTALE);
  EXPECT_EQ(refused([](auto& other) { ++other.device; }), ESTALE);
  EXPECT_EQ(refused([](auto& other) { ++other.uid; }), EACCES);
  EXPECT_EQ(refused([](auto& other) { ++other.gid; }), EACCES);
}

// A server may fail for a moment. Nothing says that the reader lost a right.
TEST(CheckUnchangedTest, AListThatCannotBeReadIsNoLostRight) {
  testing_support::TempTree tree;
  tree.File("f", "content");
  const Catalogue catalogue = tree.Scanned();
  FileAttributes known = catalogue.attributes(*catalogue.FindPath("f"));
  known.serves_others = true;
  known.mode |= 0444;
  // No list can be read through it.
  const UniqueFd fd(open(tree.At("f").c_str(), O_PATH | O_CLOEXEC));
  struct statx now;
  ASSERT_EQ(statx(fd.get(), "", AT_EMPTY_PATH, kLookMask, &now), 0);
  now.stx_mode |= 0444;
  EXPECT_EQ(ErrnoOf(CheckUnchanged(fd.get(), now, known)), EBADF);
  // Whoever lost a right hears that.
  now.stx_mode &= ~0004;
  EXPECT_EQ(ErrnoOf(CheckUnchanged(fd.get(), now, known)), EACCES);
  // Nobody but the owner had one.
  known.mode &= ~0077;
  EXPECT_EQ(ErrnoOf(CheckUnchanged(fd.get(), now, known)), absl::nullopt);
}

TEST(CheckUnchangedTest, WhatIsNoFileAnyMoreIsStale) {
  for (const int error : {ENOENT, ENOTDIR, ELOOP, ENXIO, ENODEV}) {
    EXPECT_EQ(ErrnoOf(OpenFailure(error)), ESTALE) << error;
  }
  EXPECT_EQ(ErrnoOf(OpenFailure(EMFILE)), EMFILE);
}

}  // namespace
}  // namespace shufflefs
