// SPDX-License-Identifier: Apache-2.0
#include "core/engine/catalogue_loader.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

class CatalogueLoaderTest : public ::testing::Test {
 protected:
  CatalogueLoaderTest() {
    for (int i = 0; i < 12; ++i) {
      tree_.File(absl::StrCat("train/class", i % 3, "/", i * i, ".jpg"));
    }
    tree_.File("labelled/images/a.csv");
    // Long before the scan, so that a later change would show.
    for (const char* dir : {"", "train", "train/class0", "train/class1",
                            "train/class2", "labelled", "labelled/images"}) {
      tree_.SetTime(dir, 1000);
    }
    config_.source = tree_.root();
    config_.views.resize(2);
    config_.views[0].path = "train";
    config_.views[1].path = "labelled";
  }

  FoundCatalogue Found() {
    const SourceDir source = tree_.Source();
    CatalogueRequest request;
    request.config = &config_;
    request.source = &source;
    request.saved = state_.At("catalogue");
    absl::StatusOr<FoundCatalogue> found = FindCatalogue(request);
    EXPECT_TRUE(found.ok()) << found.status();
    return *std::move(found);
  }

  TempTree tree_;
  TempTree state_;
  MountConfig config_;
};

TEST_F(CatalogueLoaderTest, VerdictsOnASavedCatalogueAreThoseOfJudge) {
  EXPECT_FALSE(Found().was_saved);
  const FoundCatalogue found = Found();
  ASSERT_TRUE(found.was_saved);
  ASSERT_EQ(found.verdicts.size(), 2u);
  for (const auto& [root, verdict] : found.verdicts) {
    const SubstitutionSafety judged = Judge(*found.catalogue, root, {});
    EXPECT_EQ(verdict.moves, judged.moves);
    EXPECT_EQ(verdict.reason, judged.reason);
    EXPECT_EQ(verdict.layout, judged.layout);
    EXPECT_EQ(verdict.classes, judged.classes);
    EXPECT_EQ(verdict.has_validation_split, judged.has_validation_split);
  }
  EXPECT_TRUE(found.verdicts.at(*found.catalogue->FindDir("train")).moves);
  EXPECT_FALSE(found.verdicts.at(*found.catalogue->FindDir("labelled")).moves);
}

// A verdict on what was there before would let names move that must not.
TEST_F(CatalogueLoaderTest, AChangedSourceHasNoVerdictsOfTheSavedCatalogue) {
  EXPECT_FALSE(Found().was_saved);
  tree_.File("train/class0/labels.csv");
  const FoundCatalogue found = Found();
  EXPECT_FALSE(found.was_saved);
  EXPECT_TRUE(found.verdicts.empty());
}

}  // namespace
}  // namespace shufflefs
