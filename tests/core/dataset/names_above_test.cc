// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/names_above.h"

#include <string>

#include "core/dataset/substitution_safety.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing_support::TempTree;

std::string Above(const std::string& source, const std::string& mountpoint) {
  return FindNamesAbove(*SourceDir::At(source), mountpoint);
}

TEST(NamesAboveTest, AManifestBesideTheSourceIsFound) {
  TempTree tree;
  tree.Files({"train/cat/1.png", "photo.jpg", "README.txt", ".hidden.csv",
              "requirements.txt", "Makefile"});
  tree.Dir("directory.csv");
  EXPECT_EQ(Above(tree.At("train"), ""), "");
  tree.Files({"z.csv", "labels.csv"});
  EXPECT_THAT(Above(tree.At("train"), ""),
              EndsWith("/labels.csv may speak of files by name"));
  EXPECT_EQ(Above("/", ""), "") << "nothing is above the root";
}

TEST(NamesAboveTest, ADirectoryOfAnnotationsIsFound) {
  TempTree tree;
  tree.Files({"images/cat/1.png", "labels/1.x"});
  EXPECT_THAT(Above(tree.At("images"), ""),
              EndsWith("/labels/ annotates other files by its name"));
}

TEST(NamesAboveTest, ALinkIsLookedAtFromBothEnds) {
  TempTree tree;
  tree.Files({"store/train/cat/1.png", "set/labels.csv"});
  tree.Link("set/train", "../store/train");
  EXPECT_EQ(Above(tree.At("store/train"), ""), "");
  EXPECT_THAT(Above(tree.At("set/train"), ""), HasSubstr("set/labels.csv"));
  EXPECT_EQ(Above(tree.At("set/train"), tree.At("set")), "")
      << "the mount is not asked";
}

TEST(NamesAboveTest, WhatIsFoundKeepsSamples) {
  TempTree tree;
  tree.Files({"cat/1.png", "cat/8.png", "dog/2.png", "dog/9.png"});
  Catalogue catalogue = tree.Scanned();
  EXPECT_TRUE(Judge(catalogue, DirId(0), {}).moves);
  catalogue.SetAbove("/x/labels.csv may speak of files by name");
  const SubstitutionSafety judged = Judge(catalogue, DirId(0), {});
  EXPECT_FALSE(judged.moves);
  EXPECT_TRUE(judged.kept_from_above);
  EXPECT_EQ(judged.reason, catalogue.above());
}

}  // namespace
}  // namespace shufflefs
