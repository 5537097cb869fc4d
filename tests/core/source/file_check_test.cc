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

TEST(CheckUnchangedTest, WhatIsNoFileAnyMoreIsStale) {
  for (const int error : {ENOENT, ENOTDIR, ELOOP, ENXIO, ENODEV}) {
    EXPECT_EQ(ErrnoOf(OpenFailure(error)), ESTALE) << error;
  }
  EXPECT_EQ(ErrnoOf(OpenFailure(EMFILE)), EMFILE);
}

}  // namespace
}  // namespace shufflefs
