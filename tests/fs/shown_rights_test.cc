// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/shown_rights.h"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "fs/model/reply_types.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

class SearchableTest : public ::testing::Test {
 protected:
  SearchableTest() : source_(tree_.Source()) {
    tree_.File("a/b/1");
    Mode("a/b/1", 0644);
    Mode("a/b", 0755);
  }
  void Mode(const char* path, mode_t mode) {
    ASSERT_EQ(chmod(tree_.At(path).c_str(), mode), 0);
  }

  // With which bits the file a/b/1, of mode 0644 and owner `uid`, is shown
  // outside its directories, if `a` has `mode`.
  mode_t Shown(mode_t mode, uid_t uid = geteuid()) {
    Mode("a", mode);
    ScanOptions scan;
    scan.serves_others = true;
    const auto catalogue =
        std::make_shared<const Catalogue>(tree_.Scanned(scan));
    const ServedDataset served(catalogue, nullptr, {}, OpensSeen());
    ShownRights rights(source_, served);
    const EntryId file = *catalogue->FindPath("a/b/1");
    struct stat st = StatOf(catalogue->attributes(file));
    st.st_uid = uid;
    return rights.Searchable(st, catalogue->parent(file), DirId(0)) & 0777;
  }

  testing_support::TempTree tree_;
  SourceDir source_;
};

TEST_F(SearchableTest, EachClassLosesWhatADirectoryAboveDeniesIt) {
  EXPECT_EQ(Shown(0755), 0444u);
  EXPECT_EQ(Shown(0754), 0440u);
  EXPECT_EQ(Shown(0745), 0404u);
  EXPECT_EQ(Shown(0711), 0444u) << "it is searched, not listed";
  // Without it not even the scan reads below, unless it is root's.
  if (geteuid() == 0) EXPECT_EQ(Shown(0655), 0044u);
}

TEST_F(SearchableTest, ClassesOfAnotherOwnerAreNotTheSame) {
  EXPECT_EQ(Shown(0755, geteuid() + 1), 0444u);
  EXPECT_EQ(Shown(0754, geteuid() + 1), 0u);
}

TEST_F(SearchableTest, NamesOfADirectoryThatIsNotListedAreNotTold) {
  for (const auto& [mode, open] :
       {std::pair(0755, true), std::pair(0711, false), std::pair(0750, true),
        std::pair(0751, false), std::pair(0700, true)}) {
    Mode("a", static_cast<mode_t>(mode));
    ScanOptions scan;
    scan.serves_others = true;
    const auto catalogue =
        std::make_shared<const Catalogue>(tree_.Scanned(scan));
    const ServedDataset served(catalogue, nullptr, {}, OpensSeen());
    ShownRights rights(source_, served);
    EXPECT_EQ(rights.NamesAreOpen(*catalogue->FindPath("a/b/1")), open) << mode;
  }
}

// Who may learn the names of the view of c0, in which the samples are.
class ListingTest : public ::testing::Test {
 protected:
  mode_t Bits(mode_t mode_of_source, mode_t mode_of_view) {
    testing_support::ViewFixture fixture(2, 3);
    const auto set_mode = [&](const char* path, mode_t mode) {
      ASSERT_EQ(chmod(fixture.tree.At(path).c_str(), mode), 0);
    };
    set_mode("", mode_of_source);
    set_mode("c0", mode_of_view);
    ScanOptions scan;
    scan.serves_others = true;
    fixture.catalogue =
        std::make_shared<const Catalogue>(fixture.tree.Scanned(scan));
    fixture.source = std::make_unique<SourceDir>(fixture.tree.Source());
    ViewConfig config = fixture.Config("lirs");
    config.path = "c0";
    std::vector<std::unique_ptr<View>> views;
    views.push_back(fixture.MakeView(config));
    const View& view = *views.front();
    const ServedDataset served(fixture.catalogue, nullptr, std::move(views),
                               OpensSeen());
    ShownRights rights(*fixture.source, served);
    return rights.ListingOf(view).bits;
  }
};

TEST_F(ListingTest, WhoMayNotListADirectoryOfSamplesLearnsNoNames) {
  EXPECT_EQ(Bits(0755, 0755), 0111u);
  EXPECT_EQ(Bits(0755, 0754), 0110u);
  EXPECT_EQ(Bits(0755, 0751), 0110u);
  EXPECT_EQ(Bits(0755, 0711), 0100u);
}

TEST_F(ListingTest, DirectoriesAboveTheViewAreSearchedAlone) {
  EXPECT_EQ(Bits(0711, 0755), 0111u);
  EXPECT_EQ(Bits(0710, 0755), 0110u);
}

}  // namespace
}  // namespace shufflefs
