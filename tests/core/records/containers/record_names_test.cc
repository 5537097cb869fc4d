// SPDX-License-Identifier: Apache-2.0
// Archives are mixed only if readers can tell all their records apart.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/records/containers/container_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tar/tar_fixture.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"

namespace shufflefs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::Slurp;
using testing_support::TarEnd;
using testing_support::TarMember;
using testing_support::TempTree;
using testing_support::Tfrecords;

using Names = std::vector<std::string>;

// The samples of these keys, of two members each.
std::string TarSamples(const Names& keys) {
  std::string tar;
  for (const std::string& key : keys) {
    tar += TarMember(key + ".jpg", std::string(700, 'x'));
    tar += TarMember(key + ".cls", "1");
  }
  return tar;
}

std::string TarOfKeys(const Names& keys) { return TarSamples(keys) + TarEnd(); }

// `count` keys from number `first` on, as a packing program numbers them.
Names NumberedKeys(int first, int count) {
  Names keys;
  for (int i = first; i < first + count; ++i) {
    keys.push_back(absl::StrCat("s/", 1'000'000 + i));
  }
  return keys;
}

class RecordNamesTest : public ::testing::Test {
 protected:
  // Indexes the tree as it is now.
  void Index(RecordScope scope, bool saves = false) {
    ViewConfig config;
    config.record.scope = scope;
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    set_ =
        std::make_shared<ContainerSet>(*Dataset::Make(catalogue_, config, ""),
                                       *RecordRules::Parse(config.record));
    ContainerSet::IndexOptions options;
    if (saves) options.saved = *OwnedDir::Make(state_.root());
    set_->Index(tree_.Source(), options);
  }
  ContainerShape Shape(const std::string& path) const {
    return *set_->Shape(*catalogue_->FindPath(path));
  }
  // Returns whether exactly these files are one family.
  bool AreMixed(const Names& paths) const {
    const auto family = Shape(paths.front()).family;
    return family != nullptr && family->files->size() == paths.size() &&
           std::all_of(paths.begin(), paths.end(), [&](const auto& path) {
             return Shape(path).family == family;
           });
  }
  bool IsAlone(const std::string& path) const {
    const ContainerShape shape = Shape(path);
    return shape.records != nullptr && shape.family == nullptr;
  }
  std::map<std::string, std::string> Untouched() const {
    std::map<std::string, std::string> untouched;
    for (const auto& each : set_->Report().untouched) {
      untouched[each.path] = each.why;
    }
    return untouched;
  }
  uint64_t ReadThrough() const { return set_->Report().read_through; }
  // The saved files of names, or all others.
  Names Saved(bool of_names) const {
    Names found;
    for (const auto& file :
         std::filesystem::directory_iterator(state_.root())) {
      const std::string name = file.path().filename().string();
      if (absl::EndsWith(name, ".names") == of_names) found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  TempTree tree_;
  TempTree state_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<ContainerSet> set_;
};

// webdataset would take two samples that follow each other for one.
TEST_F(RecordNamesTest, ASetWithAKeyInTwoFilesIsShownAsItIs) {
  tree_.File("w-0-of-3.tar", TarOfKeys(NumberedKeys(0, 9)));
  tree_.File("w-1-of-3.tar", TarOfKeys(NumberedKeys(100, 9)));
  tree_.File("w-2-of-3.tar", TarOfKeys(NumberedKeys(8, 9)));
  Index(RecordScope::kSet);
  EXPECT_THAT(Untouched(), SizeIs(3));
  for (const auto& [path, why] : Untouched()) {
    EXPECT_EQ(why,
              "record.scope: a key of w-0-of-3.tar, or a name of a file"
              " without one, comes again in w-2-of-3.tar");
    EXPECT_EQ(Shape(path).records, nullptr);
  }
}

TEST_F(RecordNamesTest, ASetWhoseKeysDifferIsMixed) {
  tree_.File("w-0-of-2.tar", TarOfKeys(NumberedKeys(0, 9)));
  tree_.File("w-1-of-2.tar", TarOfKeys(NumberedKeys(9, 9)));
  Index(RecordScope::kSet);
  EXPECT_TRUE(AreMixed({"w-0-of-2.tar", "w-1-of-2.tar"}));
  EXPECT_THAT(Untouched(), IsEmpty());
}

TEST_F(RecordNamesTest, InAViewAFileWhoseKeysWereThereKeepsItsRecords) {
  tree_.File("a/w.tar", TarOfKeys(NumberedKeys(0, 9)));
  tree_.File("b/w.tar", TarOfKeys(NumberedKeys(20, 9)));
  tree_.File("c/w.tar", TarOfKeys(NumberedKeys(28, 9)));
  tree_.File("d/w.tar", TarOfKeys(NumberedKeys(40, 9)));
  Index(RecordScope::kView);
  EXPECT_TRUE(AreMixed({"a/w.tar", "b/w.tar", "d/w.tar"}));
  EXPECT_TRUE(IsAlone("c/w.tar"));
  EXPECT_EQ(Shape("c/w.tar").records->count(), 9u);
  EXPECT_THAT(Untouched(), IsEmpty());
  EXPECT_THAT(set_->Report().warnings,
              ElementsAre("record.scope: c/w.tar keeps its own records: it "
                          "shares a key, or a name of a file without one, "
                          "with b/w.tar"));
}

TEST_F(RecordNamesTest, InAViewOfWritersThatNumberAlikeNothingIsMixed) {
  for (const char* path : {"0.tar", "1.tar", "2.tar"}) {
    tree_.File(path, TarOfKeys(NumberedKeys(0, 9)));
  }
  Index(RecordScope::kView);
  for (const char* path : {"0.tar", "1.tar", "2.tar"}) {
    EXPECT_TRUE(IsAlone(path)) << path;
  }
  EXPECT_THAT(set_->Report().warnings,
              ElementsAre(AllOf(HasSubstr("2 files, the first 1.tar, keep"),
                                HasSubstr("with others, such as 0.tar"))));
}

// With other scopes no two files show each other's records.
TEST_F(RecordNamesTest, FilesThatAreNotMixedMayShareKeys) {
  tree_.File("w-0-of-2.tar", TarOfKeys(NumberedKeys(0, 9)));
  tree_.File("w-1-of-2.tar", TarOfKeys(NumberedKeys(0, 9)));
  Index(RecordScope::kFile);
  EXPECT_TRUE(IsAlone("w-0-of-2.tar"));
  EXPECT_THAT(Untouched(), IsEmpty());
  EXPECT_THAT(set_->Report().warnings, IsEmpty());
}

// A file between two samples moves with the second. Both would be unpacked to
// one place.
TEST_F(RecordNamesTest, NamesWithoutAKeyCountWhereTheyMove) {
  const auto archive = [](int first, const std::string& between) {
    return TarSamples(NumberedKeys(first, 3)) + between +
           TarOfKeys(NumberedKeys(first + 3, 3));
  };
  const std::string readme = TarMember("s/README", "text");
  tree_.File("w-0-of-2.tar", archive(0, readme));
  tree_.File("w-1-of-2.tar", archive(10, readme));
  tree_.File("x-0-of-2.tar", archive(0, readme));
  tree_.File("x-1-of-2.tar", archive(10, TarMember("s/LICENSE", "text")));
  const std::string folder = TarMember("s/", "", {}, '5');
  tree_.File("y-0-of-2.tar", archive(0, folder));
  tree_.File("y-1-of-2.tar", archive(10, folder));
  // Equal heads stay where they are.
  tree_.File("z-0-of-2.tar", readme + archive(0, ""));
  tree_.File("z-1-of-2.tar", readme + archive(10, ""));
  Index(RecordScope::kSet);
  EXPECT_THAT(Untouched(), SizeIs(2));
  EXPECT_THAT(Untouched()["w-0-of-2.tar"], HasSubstr("comes again in w-1"));
  EXPECT_TRUE(AreMixed({"x-0-of-2.tar", "x-1-of-2.tar"}));
  EXPECT_TRUE(AreMixed({"y-0-of-2.tar", "y-1-of-2.tar"}));
  EXPECT_TRUE(AreMixed({"z-0-of-2.tar", "z-1-of-2.tar"}));
}

// A file behind the last sample stays where it is, as one before the first
// does.
TEST_F(RecordNamesTest, NamesWithoutAKeyBehindTheLastSampleMayBeEqual) {
  const auto archive = [](int first, const std::string& behind) {
    return TarSamples(NumberedKeys(first, 3)) + behind + TarEnd();
  };
  const std::string readme = TarMember("s/README", "text");
  tree_.File("w-0-of-3.tar", archive(0, readme));
  tree_.File("w-1-of-3.tar", archive(10, readme));
  tree_.File("w-2-of-3.tar", archive(20, readme));
  // The one between two samples would come into the other archive.
  const std::string moves = TarSamples(NumberedKeys(30, 2)) + readme;
  tree_.File("x-0-of-2.tar", archive(0, readme));
  tree_.File("x-1-of-2.tar", moves + archive(10, ""));
  tree_.File("y-0-of-2.tar", moves + archive(10, ""));
  tree_.File("y-1-of-2.tar", archive(0, readme));
  // A file inside the last sample is a part of it.
  const std::string inside = TarMember("t/0.jpg", "x") + readme;
  tree_.File("z-0-of-2.tar", archive(0, inside + TarMember("t/0.cls", "1")));
  tree_.File("z-1-of-2.tar", archive(10, readme));
  for (int saved = 0; saved < 2; ++saved) {
    Index(RecordScope::kSet, /*saves=*/true);
    EXPECT_TRUE(AreMixed({"w-0-of-3.tar", "w-1-of-3.tar", "w-2-of-3.tar"}));
    for (const char* path : {"x-0-of-2.tar", "y-0-of-2.tar", "z-0-of-2.tar"}) {
      EXPECT_THAT(Untouched()[path], HasSubstr("-0-of-2.tar, or a name of a"));
    }
    EXPECT_THAT(Untouched(), SizeIs(6));
  }
  Index(RecordScope::kView);
  EXPECT_TRUE(IsAlone("x-1-of-2.tar"));
}

TEST_F(RecordNamesTest, ASavedIndexKeepsTheNames) {
  tree_.File("a.tar", TarOfKeys(NumberedKeys(0, 90)));
  tree_.File("b.tar", TarOfKeys(NumberedKeys(90, 90)));
  tree_.File("c.tar", TarOfKeys(NumberedKeys(179, 90)));
  for (const uint64_t read : {3, 0}) {
    Index(RecordScope::kView, /*saves=*/true);
    EXPECT_EQ(ReadThrough(), read);
    EXPECT_TRUE(AreMixed({"a.tar", "b.tar"}));
    EXPECT_TRUE(IsAlone("c.tar"));
    EXPECT_THAT(set_->Report().warnings, SizeIs(1));
  }
}

TEST_F(RecordNamesTest, ASavedIndexServesEveryScope) {
  tree_.File("a.tar", TarOfKeys(NumberedKeys(0, 90)));
  tree_.File("b.tar", TarOfKeys(NumberedKeys(0, 90)));
  Index(RecordScope::kFile, /*saves=*/true);
  EXPECT_EQ(ReadThrough(), 2u);
  EXPECT_EQ(Shape("a.tar").names, nullptr);
  for (const RecordScope scope : {RecordScope::kView, RecordScope::kFile}) {
    Index(scope, /*saves=*/true);
    EXPECT_EQ(ReadThrough(), 0u);
    EXPECT_TRUE(IsAlone("a.tar"));
    EXPECT_TRUE(IsAlone("b.tar"));
    EXPECT_EQ(Shape("a.tar").names, nullptr);
  }
}

// Earlier versions saved none.
TEST_F(RecordNamesTest, ASavedIndexWithoutNamesServesWhereNothingIsMixed) {
  tree_.File("a.tar", TarOfKeys(NumberedKeys(0, 90)));
  tree_.File("b.tar", TarOfKeys(NumberedKeys(0, 90)));
  Index(RecordScope::kFile, /*saves=*/true);
  for (const std::string& name : Saved(/*of_names=*/true)) {
    std::filesystem::remove(state_.At(name));
  }
  Index(RecordScope::kFile, /*saves=*/true);
  EXPECT_EQ(ReadThrough(), 0u);
  for (const uint64_t read : {2, 0}) {
    Index(RecordScope::kView, /*saves=*/true);
    EXPECT_EQ(ReadThrough(), read);
    EXPECT_TRUE(IsAlone("a.tar"));
    EXPECT_TRUE(IsAlone("b.tar"));
  }
}

TEST_F(RecordNamesTest, DamagedNamesAreFoundAgain) {
  tree_.File("a.tar", TarOfKeys(NumberedKeys(0, 40)));
  tree_.File("b.tar", TarOfKeys(NumberedKeys(39, 40)));
  Index(RecordScope::kView, /*saves=*/true);
  const Names saved = Saved(/*of_names=*/true);
  ASSERT_THAT(saved, SizeIs(2));
  const std::string whole = Slurp(state_.At(saved[0]));
  const std::string other = Slurp(state_.At(saved[1]));
  std::string damaged = whole;
  damaged[damaged.size() - 9] ^= 4;
  for (const std::string& bad :
       {damaged, whole.substr(0, whole.size() - 8), std::string(), other}) {
    state_.File(saved[0], bad);
    Index(RecordScope::kView, /*saves=*/true);
    EXPECT_EQ(ReadThrough(), 1u);
    EXPECT_TRUE(IsAlone("b.tar"));
    EXPECT_TRUE(Slurp(state_.At(saved[0])) == whole);
  }
}

TEST_F(RecordNamesTest, AChangedArchiveIsNotJudgedByItsOldNames) {
  tree_.File("a.tar", TarOfKeys(NumberedKeys(0, 40)));
  tree_.File("b.tar", TarOfKeys(NumberedKeys(40, 40)));
  Index(RecordScope::kView, /*saves=*/true);
  EXPECT_TRUE(AreMixed({"a.tar", "b.tar"}));
  tree_.File("b.tar", TarOfKeys(NumberedKeys(39, 40)));
  Index(RecordScope::kView, /*saves=*/true);
  EXPECT_EQ(ReadThrough(), 1u);
  EXPECT_TRUE(IsAlone("b.tar"));
}

TEST_F(RecordNamesTest, RecordsWithoutNamesCostNothing) {
  tree_.File("t-0-of-2", Tfrecords({"one", "two"}));
  tree_.File("t-1-of-2", Tfrecords({"one", "two"}));
  Index(RecordScope::kSet, /*saves=*/true);
  EXPECT_TRUE(AreMixed({"t-0-of-2", "t-1-of-2"}));
  EXPECT_THAT(Saved(/*of_names=*/true), IsEmpty());
  EXPECT_THAT(Saved(/*of_names=*/false), SizeIs(2));
}

}  // namespace
}  // namespace shufflefs
