// SPDX-License-Identifier: Apache-2.0
#include "core/whole_file.h"

#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

TEST(WholeFileTest, WhatWasWrittenIsReadAndReplaced) {
  TempTree tree;
  const std::string path = tree.At("file");
  std::ofstream(path + ".new") << "left by a crash";
  const std::string bytes("a\0b", 3);
  ASSERT_TRUE(ReplaceFile(path, {bytes, "", "tail"}).ok());
  EXPECT_EQ(*ReadWholeFile(path), bytes + "tail");
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms(0600));
  ASSERT_TRUE(ReplaceFile(path, {}).ok());
  EXPECT_EQ(*ReadWholeFile(path), "");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(WholeFileTest, SaysWhyItCannot) {
  TempTree tree;
  EXPECT_EQ(ErrnoOf(ReadWholeFile(tree.At("none")).status()), ENOENT);
  EXPECT_EQ(ErrnoOf(ReplaceFile(tree.At("no/dir"), {"x"})), ENOENT);
  EXPECT_EQ(ReadWholeFile(tree.root()).status().code(),
            absl::StatusCode::kInvalidArgument);
  tree.File("real", "secret");
  tree.Link("link", "real");
  EXPECT_EQ(ErrnoOf(ReadWholeFile(tree.At("link")).status()), ELOOP);
  // A directory in its place is not replaced, and nothing is left behind.
  tree.Dir("dir/inside");
  EXPECT_EQ(ErrnoOf(ReplaceFile(tree.At("dir"), {"x"})), EISDIR);
  EXPECT_FALSE(std::filesystem::exists(tree.At("dir.new")));
}

}  // namespace
}  // namespace shufflefs
