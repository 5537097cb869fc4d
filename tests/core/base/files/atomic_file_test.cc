// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/atomic_file.h"

#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::TempTree;

TEST(AtomicFileTest, WhatWasWrittenIsReadAndReplaced) {
  TempTree tree;
  const std::string path = tree.At("file");
  std::ofstream(path + ".new") << "left by a crash";
  const std::string bytes("a\0b", 3);
  ASSERT_TRUE(ReplaceFile(path, {bytes, "", "tail"}).ok());
  EXPECT_EQ(*ReadWholeFile(path, 100), bytes + "tail");
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms(0600));
  ASSERT_TRUE(ReplaceFile(path, {}).ok());
  EXPECT_EQ(*ReadWholeFile(path, 100), "");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(AtomicFileTest, SaysWhyItCannot) {
  TempTree tree;
  EXPECT_EQ(ErrnoOf(ReadWholeFile(tree.At("none"), 100).status()), ENOENT);
  const absl::Status nowhere = ReplaceFile(tree.At("no/dir"), {"x"});
  EXPECT_EQ(ErrnoOf(nowhere), ENOENT);
  EXPECT_THAT(nowhere.message(),
              AllOf(HasSubstr(tree.At("no/dir")), Not(HasSubstr(".new"))));
  EXPECT_EQ(ReadWholeFile(tree.root(), 100).status().code(),
            absl::StatusCode::kInvalidArgument);
  tree.File("real", "secret");
  tree.Link("link", "real");
  EXPECT_EQ(ErrnoOf(ReadWholeFile(tree.At("link"), 100).status()), ELOOP);
  // A directory in its place is not replaced, and nothing is left behind.
  tree.Dir("dir/inside");
  EXPECT_EQ(ErrnoOf(ReplaceFile(tree.At("dir"), {"x"})), EISDIR);
  EXPECT_FALSE(std::filesystem::exists(tree.At("dir.new")));
}

TEST(AtomicFileTest, NothingIsAllocatedByASizeThatIsOnlySaid) {
  TempTree tree;
  const std::string path = tree.At("file");
  std::ofstream(path) << "four";
  EXPECT_EQ(*ReadWholeFile(path, 4), "four");
  const absl::Status larger = ReadWholeFile(path, 3).status();
  EXPECT_EQ(larger.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(larger.message(), HasSubstr(path));
  // Some bytes, and a hole of 64 GiB.
  ASSERT_EQ(truncate(path.c_str(), off_t{64} << 30), 0);
  EXPECT_EQ(ReadWholeFile(path, kMostWholeFile).status().code(),
            absl::StatusCode::kResourceExhausted);
  const absl::Status hole = ReadWholeFile(path, ~uint64_t{0}).status();
  EXPECT_EQ(hole.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(hole.message(), HasSubstr("hole"));
  // As much as memory has no room for is said to be there, and no hole is.
  ASSERT_EQ(truncate(path.c_str(), 100'000), 0);
  EXPECT_EQ(ReadWholeFile(path, 100'000)->size(), 100'000u);
}

TEST(AtomicFileTest, AHoleInWhatWasMostlyWrittenIsReadAsZeros) {
  TempTree tree;
  const std::string path = tree.At("file");
  std::string bytes(size_t{2} << 20, 'x');
  std::ofstream(path) << bytes;
  ASSERT_EQ(truncate(path.c_str(), off_t{4} << 20), 0);
  bytes.resize(size_t{4} << 20);
  const auto read = ReadWholeFile(path, uint64_t{4} << 20);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == bytes);
}

}  // namespace
}  // namespace shufflefs
