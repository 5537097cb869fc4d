// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/grouping.h"

#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing_support::TempTree;

// A group as text: its samples in order, the files of one joined by '+'.
std::vector<std::string> Samples(const Catalogue& catalogue,
                                 const Grouping& grouping, uint32_t id) {
  std::vector<std::string> samples;
  const Grouping::Group& group = grouping.group(GroupId(id));
  for (uint32_t i = 0; i < group.samples; ++i) {
    std::string sample;
    for (uint32_t c = 0; c < group.columns; ++c) {
      absl::StrAppend(&sample, c > 0 ? "+" : "",
                      catalogue.path(grouping.member(GroupId(id), i, c)));
    }
    samples.push_back(sample);
  }
  return samples;
}

class GroupingTest : public ::testing::Test {
 protected:
  // All groups, as text, and the consistency of every accessor.
  std::vector<std::vector<std::string>> Groups(GroupingOptions options,
                                               const std::string& root = "") {
    Catalogue catalogue = tree_.Scanned(scan_);
    options.root = *catalogue.FindDir(root);
    absl::StatusOr<Grouping> grouping = Grouping::Make(catalogue, options);
    EXPECT_TRUE(grouping.ok()) << grouping.status();
    CheckConsistent(catalogue, *grouping);
    std::vector<std::vector<std::string>> groups;
    for (uint32_t g = 0; g < grouping->group_count(); ++g) {
      groups.push_back(Samples(catalogue, *grouping, g));
    }
    return groups;
  }

  static void CheckConsistent(const Catalogue& catalogue,
                              const Grouping& grouping);

  static GroupingOptions With(Substitute substitute) {
    GroupingOptions options;
    options.substitute = substitute;
    return options;
  }

  TempTree tree_;
  ScanOptions scan_;
};

void GroupingTest::CheckConsistent(const Catalogue& catalogue,
                                   const Grouping& grouping) {
  std::set<EntryId> members;
  uint64_t sample = 0;
  std::set<uint64_t> keys;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    EXPECT_EQ(group.first_sample, sample);
    EXPECT_GT(group.samples, 0u);
    EXPECT_TRUE(keys.insert(group.key).second);
    for (uint32_t i = 0; i < group.samples; ++i, ++sample) {
      EXPECT_EQ(grouping.group_of(SampleId(sample)), GroupId(g));
      EXPECT_EQ(grouping.first_member(SampleId(sample)),
                grouping.member(GroupId(g), i, 0));
      for (uint32_t c = 0; c < group.columns; ++c) {
        EntryId entry = grouping.member(GroupId(g), i, c);
        EXPECT_EQ(grouping.place(entry), (Grouping::Place{GroupId(g), i, c}));
        EXPECT_EQ(grouping.sample(entry), SampleId(sample));
        EXPECT_TRUE(members.insert(entry).second);
      }
    }
  }
  EXPECT_EQ(sample, grouping.sample_count());
  std::set<EntryId> in_pieces;
  for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
    for (const Grouping::Piece& piece : grouping.groups_in(DirId(d))) {
      for (uint32_t i = 0; i < piece.count; ++i) {
        uint32_t columns = grouping.group(piece.group).columns;
        for (uint32_t c = 0; c < columns; ++c) {
          EntryId entry = grouping.member(piece.group, piece.first + i, c);
          EXPECT_EQ(catalogue.parent(entry), DirId(d));
          EXPECT_TRUE(in_pieces.insert(entry).second);
        }
      }
    }
  }
  EXPECT_EQ(in_pieces, members);
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    EXPECT_EQ(grouping.place(EntryId(e)).has_value(),
              members.count(EntryId(e)) > 0);
  }
}

// [S-3.4d] With substitute = directory samples move inside their directory and
// extension only.
TEST_F(GroupingTest, ByDirectoryAndExtension) {
  tree_.Files({"cat/2.jpg", "cat/1.jpg", "cat/3.png", "cat/4.JPG", "dog/1.jpg",
               "top.jpg"});
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("top.jpg"),
                          ElementsAre("cat/1.jpg", "cat/2.jpg", "cat/4.JPG"),
                          ElementsAre("cat/3.png"), ElementsAre("dog/1.jpg")));
}

// [S-3.5c] Nothing crosses the border of a split.
TEST_F(GroupingTest, TreeMergesDirectoriesButNotSplits) {
  tree_.Files({"b/1.jpg", "a/2.jpg", "a/1.png", "val/3.jpg", "c/test-4.jpg"});
  EXPECT_THAT(
      Groups(With(Substitute::kTree)),
      ElementsAre(ElementsAre("a/2.jpg", "b/1.jpg"), ElementsAre("a/1.png")));
}

// [S-6.1i] Containers beside moving samples keep their names, and their records
// are shuffled.
TEST_F(GroupingTest, ContainersThatOthersOutnumberAreGroupsOfTheirOwn) {
  tree_.Files({"c/1.jpg", "c/2.jpg", "c/3.jpg", "s/1.tar", "s/2.tar"});
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("c/1.jpg", "c/2.jpg", "c/3.jpg"),
                          ElementsAre("s/1.tar"), ElementsAre("s/2.tar")));
  EXPECT_THAT(Groups(With(Substitute::kTree)),
              ElementsAre(ElementsAre("c/1.jpg", "c/2.jpg", "c/3.jpg"),
                          ElementsAre("s/1.tar"), ElementsAre("s/2.tar")));
  tree_.Files({"s/3.tar"});  // they are samples themselves
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("c/1.jpg", "c/2.jpg", "c/3.jpg"),
                          ElementsAre("s/1.tar", "s/2.tar", "s/3.tar")));
}

TEST_F(GroupingTest, PairsAreOneSample) {
  tree_.Files({"d/a.jpg", "d/a.json", "d/b.jpg", "d/c.json", "d/c.jpg",
               "d/d-1.jpg", "d/d.jpg", "d/d.json", "d/d.x.jpg", "d/d.x.json"});
  EXPECT_THAT(
      Groups(With(Substitute::kDirectory)),
      ElementsAre(ElementsAre("d/b.jpg", "d/d-1.jpg"),
                  ElementsAre("d/a.jpg+d/a.json", "d/c.jpg+d/c.json",
                              "d/d.jpg+d/d.json", "d/d.x.jpg+d/d.x.json")));
  GroupingOptions off = With(Substitute::kNever);
  off.pair = PairMode::kOff;
  EXPECT_THAT(Groups(off),
              ElementsAre(ElementsAre("d/a.jpg", "d/b.jpg", "d/c.jpg",
                                      "d/d-1.jpg", "d/d.jpg", "d/d.x.jpg"),
                          ElementsAre("d/a.json", "d/c.json", "d/d.json",
                                      "d/d.x.json")));
}

// Between two files of one stem others may be sorted.
TEST_F(GroupingTest, PairsNeedNotBeNeighbours) {
  tree_.Files({"a.jpg", "a.k.jpg", "a.l", "a.seg.png", "a.txt"});
  EXPECT_THAT(
      Groups(With(Substitute::kNever)),
      ElementsAre(ElementsAre("a.k.jpg"), ElementsAre("a.jpg+a.l+a.txt"),
                  ElementsAre("a.seg.png")));
}

// Editors and tools leave such files.
TEST_F(GroupingTest, AFileWithoutAnExtensionPartsNoPair) {
  tree_.Files({"d/a.jpg", "d/a.jpg_original", "d/a.json", "d/b.jpg", "d/b.json",
               "d/c.jpg"});
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("d/c.jpg"),
                          ElementsAre("d/a.jpg+d/a.json", "d/b.jpg+d/b.json")));
}

// [S-3.10a] In an epoch that is read through, each sample comes exactly once.
TEST_F(GroupingTest, FilesOfAnotherViewAreNoSamples) {
  tree_.Files(
      {"a/1.jpg", "a/2.jpg", "in/3.jpg", "in/deep/4.jpg", "inner/5.jpg"});
  GroupingOptions options = With(Substitute::kTree);
  options.other_views = {*tree_.Scanned().FindDir("in")};
  EXPECT_THAT(Groups(options),
              ElementsAre(ElementsAre("a/1.jpg", "a/2.jpg", "inner/5.jpg")));
}

TEST_F(GroupingTest, NamesWithoutAnExtensionNeverPair) {
  tree_.Files({"d/a", "d/a.jpg", "d/b", "d/1.5", "d/1.6"});
  EXPECT_THAT(Groups(With(Substitute::kNever)),
              ElementsAre(ElementsAre("d/1.5", "d/1.6", "d/a", "d/b"),
                          ElementsAre("d/a.jpg")));
}

// [S-3.4g] Dot files, empty files, links, special files and manifests keep
// their own content.
TEST_F(GroupingTest, WhatIsFixed) {
  tree_.Files({"d/a.jpg", "d/b.jpg", "d/.hidden.jpg", ".git/x.jpg", "d/val.jpg",
               "test/c.jpg", "d/README.md", "d/labels.csv", "d/list.txt",
               "d/z.zarr/0.0", "d/Thumbs.db"});
  tree_.File("d/empty.jpg", "");
  tree_.Link("d/link.jpg", "a.jpg");
  tree_.Fifo("d/pipe.jpg");
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("d/a.jpg", "d/b.jpg")));
  // Where nothing moves, order is all that groups are for.
  EXPECT_THAT(
      Groups(With(Substitute::kNever)),
      ElementsAre(ElementsAre("d/labels.csv"), ElementsAre("d/Thumbs.db"),
                  ElementsAre("d/a.jpg", "d/b.jpg"), ElementsAre("d/README.md"),
                  ElementsAre("d/list.txt"), ElementsAre("d/z.zarr/0.0")));
  // But a rank is for samples.
  GroupingOptions ranked = With(Substitute::kNever);
  ranked.ranked = true;
  EXPECT_THAT(Groups(ranked), ElementsAre(ElementsAre("d/a.jpg", "d/b.jpg")));
}

TEST_F(GroupingTest, OneFixedMemberFixesThePair) {
  tree_.Files(
      {"d/a.jpg", "d/a.json", "d/b.jpg", "d/c.jpg", "d/e.jpg", "d/e.json"});
  tree_.File("d/b.json", "");
  tree_.Link("d/c.json", "a.json");
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("d/a.jpg+d/a.json", "d/e.jpg+d/e.json")));
}

TEST_F(GroupingTest, WhatTheDaemonMayNotReadIsFixed) {
  tree_.Files({"d/a.jpg", "d/b.jpg", "d/c.jpg"});
  chmod(tree_.At("d/b.jpg").c_str(), 0000);
  scan_.reader.reads_all = false;
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("d/a.jpg", "d/c.jpg")));
  scan_.reader.reads_all = true;
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("d/a.jpg", "d/b.jpg", "d/c.jpg")));
}

TEST_F(GroupingTest, TextIsTheSampleWhereThereIsNothingElse) {
  tree_.Files(
      {"pos/1.txt", "pos/2.txt", "neg/3.txt", "neg/4.txt", "classes.txt"});
  EXPECT_THAT(Groups(With(Substitute::kDirectory)),
              ElementsAre(ElementsAre("neg/3.txt", "neg/4.txt"),
                          ElementsAre("pos/1.txt", "pos/2.txt")));
}

TEST_F(GroupingTest, AViewOfASubtree) {
  tree_.Files({"a/1.jpg", "b/x/1.jpg", "b/x/2.jpg", "b/3.jpg", "c/1.jpg"});
  EXPECT_THAT(Groups(With(Substitute::kDirectory), "b"),
              ElementsAre(ElementsAre("b/3.jpg"),
                          ElementsAre("b/x/1.jpg", "b/x/2.jpg")));
  EXPECT_THAT(Groups(With(Substitute::kTree), "b"),
              ElementsAre(ElementsAre("b/3.jpg", "b/x/1.jpg", "b/x/2.jpg")));
}

TEST_F(GroupingTest, AViewInASplitHasNoGroups) {
  tree_.Files({"val/cat/1.jpg", "val/cat/2.jpg"});
  EXPECT_THAT(Groups(With(Substitute::kDirectory), "val"), IsEmpty());
}

TEST_F(GroupingTest, WhetherNamesMove) {
  tree_.Files({"a/1.jpg"});
  Catalogue catalogue = tree_.Scanned();
  auto moves = [&](Substitute substitute, bool proven) {
    GroupingOptions options = With(substitute);
    options.proven = proven;
    return Grouping::Make(catalogue, options)->moves();
  };
  EXPECT_TRUE(moves(Substitute::kAuto, true));
  EXPECT_FALSE(moves(Substitute::kAuto, false));
  EXPECT_FALSE(moves(Substitute::kNever, true));
  EXPECT_TRUE(moves(Substitute::kDirectory, false));
  EXPECT_TRUE(moves(Substitute::kTree, false));
}

TEST_F(GroupingTest, KeysNameTheGroupAndNotTheMachine) {
  tree_.Files({"x/train/cat/1.jpg", "x/train/cat/2.jpg", "x/train/cat/a.png"});
  TempTree other;
  other.Files({"cat/7.jpg"});
  Catalogue here = tree_.Scanned();
  Catalogue there = other.Scanned();
  GroupingOptions options = With(Substitute::kNever);
  Grouping elsewhere = *Grouping::Make(there, options);
  options.root = *here.FindDir("x/train");
  Grouping grouping = *Grouping::Make(here, options);
  EXPECT_EQ(grouping.group(GroupId(0)).key, elsewhere.group(GroupId(0)).key);
  EXPECT_NE(grouping.group(GroupId(1)).key, elsewhere.group(GroupId(0)).key);
  options.root = DirId(0);
  EXPECT_NE(Grouping::Make(here, options)->group(GroupId(0)).key,
            elsewhere.group(GroupId(0)).key);
}

// [S-3.4e] Samples of different groups of a groups file never change places.
TEST_F(GroupingTest, AGroupsFileMakesFinerGroups) {
  tree_.Files({"v/cat/1.jpg", "v/cat/2.jpg", "v/cat/3.jpg", "v/cat/4.jpg",
               "v/dog/1.jpg", "v/dog/2.jpg", "v/dog/3.jpg"});
  GroupingOptions options = With(Substitute::kDirectory);
  options.groups_text =
      "cat/1.jpg\tfold1\ncat/3.jpg\tfold1\r\n\ncat/2.jpg\tfold2\n"
      "dog/1.jpg\tfold1\ndog/2.jpg\tfold1";
  EXPECT_THAT(
      Groups(options, "v"),
      ElementsAre(ElementsAre("v/cat/4.jpg"),
                  ElementsAre("v/cat/1.jpg", "v/cat/3.jpg"),
                  ElementsAre("v/cat/2.jpg"), ElementsAre("v/dog/3.jpg"),
                  ElementsAre("v/dog/1.jpg", "v/dog/2.jpg")));
  options.substitute = Substitute::kTree;
  EXPECT_THAT(Groups(options, "v"),
              ElementsAre(ElementsAre("v/cat/4.jpg", "v/dog/3.jpg"),
                          ElementsAre("v/cat/1.jpg", "v/cat/3.jpg",
                                      "v/dog/1.jpg", "v/dog/2.jpg"),
                          ElementsAre("v/cat/2.jpg")));
}

TEST_F(GroupingTest, RefusesAGroupsFileThatDoesNotFit) {
  tree_.Files({"a/1.jpg", "a/1.json", "a/2.jpg"});
  Catalogue catalogue = tree_.Scanned();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a/1.jpg fold1", "folds.tsv:1: no tab"},
      {"a/2.jpg\tx\na/9.jpg\tx", "folds.tsv:2: a/9.jpg is no file"},
      {"a\tx", "folds.tsv:1: a is no file"},
      {"a/1.jpg\t", "folds.tsv:1: an empty group"},
      {"a/2.jpg\tx\n\na/2.jpg\ty",
       "folds.tsv:3: a/2.jpg already has a group, in line 1"},
      {"a/1.jpg\tx\na/1.json\ty", "another group"},
  };
  for (const auto& [text, message] : cases) {
    GroupingOptions options = With(Substitute::kDirectory);
    options.groups_text = text;
    options.groups_name = "folds.tsv";
    absl::Status status = Grouping::Make(catalogue, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

// Against a naive grouping of the same random tree.
TEST_F(GroupingTest, AgreesWithTheDefinitionOnRandomTrees) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> stems = {"a", "b", "a.b", "a-b", "c", "a.b.c"};
  const std::vector<std::string> extensions = {"jpg", "json", "png", "JPG"};
  for (int file = 0; file < 60; ++file) {
    tree_.File(absl::StrCat("d", random() % 4, "/", stems[random() % 6], ".",
                            extensions[random() % 4]));
  }
  std::map<std::string, std::map<std::string, std::set<std::string>>> samples;
  for (const auto& at :
       std::filesystem::recursive_directory_iterator(tree_.root())) {
    if (!at.is_regular_file()) continue;
    samples[at.path().parent_path().filename()][at.path().stem()].insert(
        at.path().filename());
  }
  std::map<std::string, std::set<std::string>> expected;
  for (const auto& [dir, by_stem] : samples) {
    for (const auto& [stem, files] : by_stem) {
      std::multiset<std::string> set;
      for (const std::string& name : files) {
        std::string extension = std::filesystem::path(name).extension();
        set.insert(extension == ".JPG" ? ".jpg" : extension);
      }
      std::string key = dir;
      for (const std::string& extension : set) key += extension;
      for (const std::string& name : files) {
        expected[key].insert(dir + "/" + name);
      }
    }
  }
  std::set<std::set<std::string>> seen;
  for (const auto& group : Groups(With(Substitute::kNever))) {
    std::set<std::string> files;
    for (const std::string& sample : group) {
      for (size_t at = 0; at <= sample.size();) {
        size_t end = std::min(sample.find('+', at), sample.size());
        files.insert(sample.substr(at, end - at));
        at = end + 1;
      }
    }
    seen.insert(files);
  }
  std::set<std::set<std::string>> wanted;
  for (const auto& [key, files] : expected) wanted.insert(files);
  EXPECT_EQ(seen, wanted);
}

TEST(CredentialsTest, TheFirstClassThatAppliesDecides) {
  Credentials me;
  me.uid = 10;
  me.gid = 20;
  me.groups = {21};
  FileAttributes file;
  file.uid = 10;
  file.gid = 20;
  file.mode = S_IFREG | 0044;
  EXPECT_FALSE(me.MayRead(file));
  file.uid = 11;
  EXPECT_TRUE(me.MayRead(file));
  file.mode = S_IFREG | 0404;
  EXPECT_FALSE(me.MayRead(file));
  file.gid = 21;
  EXPECT_FALSE(me.MayRead(file));
  file.gid = 22;
  EXPECT_TRUE(me.MayRead(file));
  file.mode = S_IFREG;
  EXPECT_FALSE(me.MayRead(file));
  me.reads_all = true;
  EXPECT_TRUE(me.MayRead(file));
}

}  // namespace
}  // namespace shufflefs
