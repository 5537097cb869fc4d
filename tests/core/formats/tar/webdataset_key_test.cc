// SPDX-License-Identifier: Apache-2.0
// The keys of members, against webdataset's own regular expressions.
#include "core/formats/tar/webdataset_key.h"

#include <random>
#include <regex>
#include <string>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

absl::optional<std::string> Key(const std::string& name) {
  const absl::optional<absl::string_view> key = WebDatasetKey(name);
  if (!key) return absl::nullopt;
  return std::string(*key);
}

// webdataset/tariterators.py: base_plus_ext, and the skip_meta of
// tar_file_iterator.
absl::optional<std::string> Reference(const std::string& name) {
  static const std::regex metadata("^__[^/]*__($|/)");
  static const std::regex key("^((?:.*/|)[^.]+)[.]([^/]*)$");
  std::smatch match;
  if (std::regex_search(name, metadata)) return absl::nullopt;
  if (!std::regex_match(name, match, key)) return absl::nullopt;
  return match[1].str();
}

TEST(WebDatasetKey, UpToTheFirstDotOfTheBaseName) {
  EXPECT_EQ(Key("000017.jpg"), "000017");
  EXPECT_EQ(Key("000017.seg.png"), "000017");
  EXPECT_EQ(Key("train/000017.cls"), "train/000017");
  EXPECT_EQ(Key("v1.0/./000017.cls"), "v1.0/./000017");
  EXPECT_EQ(Key("000017."), "000017");
}

TEST(WebDatasetKey, WhatWebdatasetPassesOver) {
  for (const char* name :
       {"", "README", "v1.0/README", ".hidden", "v1.0/.hidden", "./.hidden",
        "__meta__", "__meta__/a.jpg", "____", "____/a.jpg"}) {
    EXPECT_EQ(Key(name), absl::nullopt) << name;
  }
  EXPECT_EQ(Key("___.jpg"), "___");
  EXPECT_EQ(Key("__meta__.jpg"), "__meta__");
  EXPECT_EQ(Key("a/__meta__/b.jpg"), "a/__meta__/b");
}

TEST(WebDatasetKey, AHiddenFileTakesItsDirectory) {
  EXPECT_EQ(Key("a/.hidden"), "a/");
  EXPECT_EQ(Key("v1.0/a/.hidden.jpg"), "v1.0/a/");
  EXPECT_EQ(Key("/.hidden"), "/");
}

TEST(WebDatasetKey, AgreesWithTheExpressions) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  static const char* const kParts[] = {"/", ".", "_", "__", "a", "bc", "/."};
  for (int i = 0; i < 20000; ++i) {
    std::string name;
    for (auto parts = random() % 9; parts > 0; --parts) {
      name += kParts[random() % 7];
    }
    ASSERT_EQ(Key(name), Reference(name)) << name;
  }
}

}  // namespace
}  // namespace shufflefs
