// SPDX-License-Identifier: Apache-2.0
#include "core/binding/ranked_names.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ViewFixture;

class RankedNamesTest : public ::testing::Test {
 protected:
  EntryId Entry(const std::string& path) {
    return *fixture_.catalogue->FindPath(path);
  }
  ViewFixture fixture_{2, 3};
};

TEST_F(RankedNamesTest, CarryThePathWithTildes) {
  fixture_.tree.File("a/b/x.jpg");
  const auto setup = fixture_.Setup(ViewFixture::Config("lirs"));
  EXPECT_EQ(setup->ranked->Name(7, Entry("a/b/x.jpg")), "000000007~a~b~x.jpg");
}

TEST_F(RankedNamesTest, ResolveWhateverTheRank) {
  fixture_.tree.File("a/b/x.jpg");
  const auto setup = fixture_.Setup(ViewFixture::Config("lirs"));
  for (const char* name : {"000000007~a~b~x.jpg", "999999999~a~b~x.jpg",
                           "12345678901~a~b~x.jpg"}) {
    ASSERT_TRUE(setup->ranked->Find(name).has_value()) << name;
    EXPECT_EQ(*setup->ranked->Find(name), Entry("a/b/x.jpg"));
  }
}

TEST_F(RankedNamesTest, HashPathsThatAreLongOrHoldATilde) {
  const std::string deep(120, 'd');
  const std::string long_path =
      deep + "/" + deep + "/" + std::string(60, 'f') + ".jpg";
  fixture_.tree.File(long_path);
  fixture_.tree.File("a~b/x.jpg");
  fixture_.tree.File("a/b~x.jpg");
  const auto setup = fixture_.Setup(ViewFixture::Config("lirs"));
  std::vector<std::string> names;
  for (const std::string& path :
       {long_path, std::string("a~b/x.jpg"), std::string("a/b~x.jpg")}) {
    const std::string name = setup->ranked->Name(1, Entry(path));
    EXPECT_LE(name.size(), 255u);
    EXPECT_THAT(name, ::testing::EndsWith(".jpg"));
    ASSERT_TRUE(setup->ranked->Find(name).has_value()) << name;
    EXPECT_EQ(*setup->ranked->Find(name), Entry(path));
    names.push_back(name);
  }
  EXPECT_NE(names[1], names[2]);
}

// Another path with the hash of images/a~1.png, and the same last part.
constexpr char kTwin[] =
    "\x73\x22\x08\xaf\x6b\xee\x12\xfb\x7d\x01\x81\x2c\xf7\x21\xad\x1c"
    "cbebhhhg/a~1.png";
constexpr char kVictim[] = "images/a~1.png";

TEST_F(RankedNamesTest, FilesOfOneHashAreNumberedInTheOrderOfTheCatalogue) {
  fixture_.tree.File(kTwin);
  fixture_.tree.File(kVictim);
  const auto setup = fixture_.Setup(ViewFixture::Config("lirs"));
  EntryId first = Entry(kVictim);
  EntryId second = Entry(kTwin);
  if (second < first) std::swap(first, second);
  EXPECT_EQ(setup->ranked->Name(1, first),
            "000000001~25e1dce74c504611~a~1.png");
  EXPECT_EQ(setup->ranked->Name(2, second),
            "000000002~25e1dce74c504611~2~a~1.png");
  EXPECT_EQ(setup->ranked->Find("000000001~25e1dce74c504611~a~1.png"), first);
  EXPECT_EQ(setup->ranked->Find("000000001~25e1dce74c504611~2~a~1.png"),
            second);
  EXPECT_FALSE(setup->ranked->Find("000000001~25e1dce74c504611~3~a~1.png"));
}

TEST_F(RankedNamesTest, APathThatSpellsTheNameOfAnotherTakesNoPlace) {
  const std::vector<std::string> paths = {kVictim, "25e1dce74c504611/a/1.png",
                                          "25e1dce74c504611/2/a/1.png"};
  for (const std::string& path : paths) fixture_.tree.File(path);
  const auto setup = fixture_.Setup(ViewFixture::Config("lirs"));
  for (const std::string& path : paths) {
    const std::string name = setup->ranked->Name(1, Entry(path));
    EXPECT_EQ(setup->ranked->Find(name), Entry(path)) << name;
  }
  EXPECT_EQ(setup->ranked->Name(1, Entry(kVictim)),
            "000000001~25e1dce74c504611~3~a~1.png");
}

TEST_F(RankedNamesTest, FindNothingElse) {
  fixture_.tree.File("labels.csv", "a,b");
  fixture_.tree.File("val/c0/y.jpg");
  fixture_.tree.File("c0/.hidden");
  const auto setup = fixture_.Setup(ViewFixture::Config("lirs"));
  for (const char* name :
       {"", "~", "000000001", "1~c0~x", "00000000x~c0", "000000001~",
        "000000001~c0", "000000001~nothing.jpg", "000000001~labels.csv",
        "000000001~val~c0~y.jpg", "000000001~c0~.hidden",
        "000000001~..~..~etc~passwd", "000000001~0123456789abcdef~x.jpg"}) {
    EXPECT_FALSE(setup->ranked->Find(name).has_value()) << name;
  }
}

// To collect hashed names takes a while for millions of files.
TEST_F(RankedNamesTest, TheFirstHashedNameLetsOthersServe) {
  fixture_.tree.File("a~b/x.jpg");
  const auto setup = fixture_.Setup(ViewFixture::Config("lirs"));
  int times = 0;
  const RankedNames ranked(setup->dataset, [&times] { ++times; });
  const std::string plain = ranked.Name(1, fixture_.Files().back());
  EXPECT_TRUE(ranked.Find("000000001~c0~0_0.jpg").has_value());
  EXPECT_EQ(times, 0) << plain;
  EXPECT_FALSE(ranked.Find("000000001~0123456789abcdef~x.jpg").has_value());
  EXPECT_EQ(times, 1);
  const std::string name = ranked.Name(1, Entry("a~b/x.jpg"));
  EXPECT_EQ(ranked.Find(name), Entry("a~b/x.jpg"));
  EXPECT_EQ(times, 1);
}

// The same paths are hashed by their parts as by the whole.
TEST_F(RankedNamesTest, APathIsHashedByItsLengthBelowTheView) {
  const std::string deep = "train/" + std::string(200, 'd');
  fixture_.tree.File(deep + "/" + std::string(39, 'f') + ".jpg");
  fixture_.tree.File(deep + "/" + std::string(40, 'f') + ".jpg");
  fixture_.tree.File("train/" + std::string(240, 'n') + ".jpg");
  fixture_.tree.File("train/" + std::string(241, 'n') + ".jpg");
  ViewConfig config = ViewFixture::Config("lirs");
  config.path = "train";
  const auto setup = fixture_.Setup(config);
  int hashed = 0;
  for (const EntryId file : fixture_.Files()) {
    if (!setup->dataset->grouping().place(file)) continue;
    const std::string name = setup->ranked->Name(1, file);
    EXPECT_EQ(setup->ranked->Find(name), file) << name;
    hashed += name.size() < 200 ? 1 : 0;
  }
  EXPECT_EQ(hashed, 2);
}

TEST_F(RankedNamesTest, ArePathsBelowTheViewsOwn) {
  fixture_.tree.File("train/a/x.jpg");
  fixture_.tree.File("train/b/y.jpg");
  ViewConfig config = ViewFixture::Config("lirs");
  config.path = "train";
  const auto setup = fixture_.Setup(config);
  EXPECT_EQ(setup->ranked->Name(0, Entry("train/a/x.jpg")),
            "000000000~a~x.jpg");
  EXPECT_EQ(*setup->ranked->Find("000000000~a~x.jpg"), Entry("train/a/x.jpg"));
}

}  // namespace
}  // namespace shufflefs
