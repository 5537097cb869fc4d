// SPDX-License-Identifier: Apache-2.0
// The rules behind the verdict, one by one; whole layouts are in
// layouts_test.cc.
#include "core/dataset/substitution_safety.h"

#include "core/dataset/name_sequence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/layouts.h"

namespace shufflefs {
namespace {

using namespace testing_support;  // the table's words
using ::testing::HasSubstr;

SubstitutionSafety JudgeTree(const TempTree& tree,
                             const SubstitutionSafetyOptions& options = {}) {
  return Judge(tree.Scanned(), DirId(0), options);
}

TEST(SubstitutionSafetyTest, SaysWhatItFound) {
  TempTree tree;
  tree.Files(Scattered("cat/%d.png", 0) + Scattered("dog/%d.png", 1) +
             Paths{"README.md"});
  SubstitutionSafety verdict = JudgeTree(tree);
  EXPECT_TRUE(verdict.moves);
  EXPECT_EQ(verdict.layout,
            "2 class folders: 24 files in 2 directories, all of kind image");
}

TEST(SubstitutionSafetyTest, CountsEvenWhatMustStay) {
  TempTree tree;
  tree.Files(Scattered("d/%d.tar", 0));
  SubstitutionSafety verdict = JudgeTree(tree);
  EXPECT_FALSE(verdict.moves);
  EXPECT_EQ(verdict.layout, "12 files in 1 directory, all of kind container");
  tree.Files({"d/one.png"});
  EXPECT_EQ(JudgeTree(tree).layout,
            "13 files in 1 directory, most of kind container");
}

// [S-3.4b] One line names the file or the rule that decided.
TEST(SubstitutionSafetyTest, TheReasonIsOneLineWhateverTheNamesHold) {
  TempTree tree;
  tree.Files({"a/x\ny\xff.csv", "a/z.png", "b/q.png"});
  SubstitutionSafety verdict = JudgeTree(tree);
  EXPECT_FALSE(verdict.moves);
  EXPECT_THAT(verdict.reason, HasSubstr("a/x\\ny"));
}

TEST(SubstitutionSafetyTest, SharedNamesCountFromTheGivenShare) {
  TempTree tree;
  // Three of each twelve are in both.
  tree.Files(
      Scattered("a/%d.png", 0) + Scattered("b/%d.png", 1) +
      Paths{"a/p.png", "b/p.png", "a/q.png", "b/q.png", "a/r.png", "b/r.png"});
  SubstitutionSafetyOptions options;
  EXPECT_TRUE(JudgeTree(tree, options).moves);
  options.pair_percent = 20;
  EXPECT_THAT(JudgeTree(tree, options).reason,
              HasSubstr("a/ and b/ share the names of 3 files"));
}

TEST(SubstitutionSafetyTest, FramesCountFromTheGivenNumber) {
  TempTree tree;
  tree.Files(Scattered("a/%d.png", 0) + Paths{"b/5.png", "b/6.png"});
  SubstitutionSafetyOptions options;
  EXPECT_TRUE(JudgeTree(tree, options).moves);
  options.min_frames = 2;
  EXPECT_THAT(JudgeTree(tree, options).reason,
              HasSubstr("the names in b/ are one sequence"));
}

TEST(SubstitutionSafetyTest, SplitsNeitherPairNorCountAsClasses) {
  TempTree tree;
  tree.Files(Scattered("train/cat/%d.png", 0) +
             Scattered("train/dog/%d.png", 1) +
             Scattered("test/cat/%d.png", 0) + Scattered("test/dog/%d.png", 1));
  SubstitutionSafety verdict = JudgeTree(tree);
  EXPECT_TRUE(verdict.moves) << verdict.reason;
  EXPECT_EQ(verdict.classes, 2u);
}

// The client follows them, and reads what their targets' names show.
TEST(SubstitutionSafetyTest, LinksToSamplesKeepNamesInPlace) {
  const auto reason = [](const std::string& link, const std::string& target) {
    TempTree tree;
    tree.Files(Scattered("all/cat/%d.jpg", 0) + Scattered("all/dog/%d.jpg", 1));
    tree.Link(link, target);
    return JudgeTree(tree).reason;
  };
  EXPECT_THAT(reason("val/cat/0.jpg", "../../all/cat/0.jpg"),
              HasSubstr("val/cat/0.jpg is in a split and a link"));
  EXPECT_THAT(reason("round/0.jpg", "../all/cat/0.jpg"),
              HasSubstr("round/ holds links"));
  EXPECT_THAT(reason("labels.csv", "/meta/labels.csv"),
              HasSubstr("labels.csv may refer to files"));
  EXPECT_THAT(reason("masks", "../masks"), HasSubstr("masks annotates"));
  for (const char* harmless : {"all/cat/x.jpg", "all/README.md", "latest",
                               ".cache/0.jpg", "val/notes"}) {
    EXPECT_THAT(reason(harmless, "0.jpg"), HasSubstr("class folders"))
        << harmless;
  }
}

TEST(SubstitutionSafetyTest, ListsAboveAViewCountInAnyFormat) {
  for (const std::string list :
       {"labels.csv", "labels.csv.gz", "labels.npy", "targets.h5",
        "annotations.npz", "index.parquet", "data.parquet"}) {
    TempTree tree;
    tree.Files(Scattered("images/cat/%d.jpg", 0) +
               Scattered("images/dog/%d.jpg", 1) + Paths{list});
    const Catalogue catalogue = tree.Scanned();
    const SubstitutionSafety verdict =
        Judge(catalogue, *catalogue.FindDir("images"), {});
    EXPECT_THAT(verdict.reason, HasSubstr(list));
    EXPECT_FALSE(verdict.moves);
  }
}

TEST(SubstitutionSafetyTest, AValidationSplitBesideAnAncestorCounts) {
  TempTree tree;
  tree.Files(
      {"set/images/train/cat/1.png", "set/val/cat/1.png", "other/x.png"});
  tree.Dir("other/val");
  tree.Files({"empty/train/cat/1.png", "empty/val/.gitkeep",
              "empty/val/README.md", "empty/val/cat/Thumbs.db"});
  Catalogue catalogue = tree.Scanned();
  auto has = [&](const char* view) {
    return Judge(catalogue, *catalogue.FindDir(view),
                 SubstitutionSafetyOptions())
        .has_validation_split;
  };
  EXPECT_TRUE(has("set/images/train"));
  EXPECT_TRUE(has(""));
  EXPECT_FALSE(has("other"));
  EXPECT_FALSE(has("empty")) << "it holds no sample";
}

std::vector<absl::string_view> Views(const Paths& names) {
  return {names.begin(), names.end()};
}

TEST(NameSequenceTest, ConsecutiveNumbersAreOne) {
  for (const Paths& names :
       {Consecutive("frame_%04d", 1, 20), Consecutive("%d", 95, 20),
        Consecutive("a%dz", 0, 3), Consecutive("x7_%02d_9", 8, 5),
        Consecutive("%06d", 0, 40) + Consecutive("%06d", 42, 40)}) {
    EXPECT_TRUE(IsOneSequence(Views(names), 3)) << names[0];
  }
}

TEST(NameSequenceTest, OthersAreNot) {
  for (const Paths& names :
       {Scattered("%05d", 0), Paths{"a", "b", "c"}, Paths{"1", "2"},
        Paths{"a1", "b2", "c3"}, Numbered("%d", {1, 2, 4}),
        Paths{"1", "01", "2"}, Paths{"x1_a", "x2_b", "x3_c"},
        Paths{"99999999999999999999998", "99999999999999999999999",
              "100000000000000000000000"}}) {
    EXPECT_FALSE(IsOneSequence(Views(names), 3)) << names[0];
  }
}

TEST(NameSequenceTest, CommonPartsDoNotCutNumbers) {
  Paths names = {"img_0010_x2", "img_0011_x2", "img_0100_x2"};
  CommonParts parts = FindCommonParts(Views(names));
  EXPECT_EQ(parts.prefix, 4u);
  EXPECT_EQ(parts.suffix, 3u);
  names = {"a10", "b110"};
  EXPECT_EQ(FindCommonParts(Views(names)).suffix, 0u);
  names = {"a_mask", "ab_mask", "abc_mask"};
  parts = FindCommonParts(Views(names));
  EXPECT_EQ(parts.prefix, 1u);
  EXPECT_EQ(parts.suffix, 5u);
  EXPECT_EQ(FindCommonParts(Views({"alone"})).prefix, 0u);
}

}  // namespace
}  // namespace shufflefs
