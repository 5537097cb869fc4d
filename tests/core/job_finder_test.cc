// SPDX-License-Identifier: Apache-2.0
// Which reads are of which job.
#include "core/clairvoyant/job_finder.h"

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/temp_tree.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::TempTree;

// All readers are hidden: one family.
class JobFinderTest : public testing::Test {
 protected:
  JobFinderTest() : families_(proc_.root()) {
    for (int i = 0; i < 300; ++i) {
      tree_.File(absl::StrCat("train/c", i % 3, "/", 1000 + i, ".jpg"));
      tree_.File(absl::StrCat("val/c", i % 3, "/", 1000 + i, ".jpg"));
      tree_.File(absl::StrCat("train/c", i % 3, "/", 1000 + i, ".json"));
    }
    for (int i = 0; i < 20; ++i) tree_.File(absl::StrCat("more/", i, ".npy"));
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    dataset_ = *Dataset::Make(catalogue_, ViewConfig(), "");
  }
  void Make(uint64_t memory_bytes) {
    finder_.emplace(dataset_, families_, JobFinder::Options{{}, memory_bytes});
  }
  // How many of these opens it took until a job was found; 0: none was.
  uint64_t OpensUntilFound(const std::string& dir, const std::string& kind,
                           uint64_t opens = 300) {
    for (uint64_t i = 0; i < opens; ++i) {
      const std::string path =
          dir == "more" ? absl::StrCat(dir, "/", i % 20, kind)
                        : absl::StrCat(dir, "/c", i % 3, "/", 1000 + i, kind);
      const EntryId file = *catalogue_->FindPath(path);
      if (finder_->Opened(file, 0, milliseconds(1)) != nullptr) return i + 1;
    }
    return 0;
  }

  TempTree proc_;
  TempTree tree_;
  ReaderFamilies families_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<const Dataset> dataset_;
  std::optional<JobFinder> finder_;
};

TEST_F(JobFinderTest, DirectoriesAndKindsAreJobsOfTheirOwn) {
  Make(1 << 20);
  EXPECT_EQ(OpensUntilFound("train", ".jpg"), 8u);
  EXPECT_EQ(OpensUntilFound("train", ".json"), 8u);
  EXPECT_EQ(OpensUntilFound("val", ".jpg"), 8u);
  ASSERT_EQ(finder_->jobs().size(), 3u);
  EXPECT_EQ(finder_->jobs().front().job.index().path(), "val");
  EXPECT_EQ(OpensUntilFound("train", ".jpg"), 1u) << "it is known";
  EXPECT_EQ(finder_->jobs().front().job.index().path(), "train");
}

TEST_F(JobFinderTest, OfAFewFilesThereIsNoJob) {
  Make(1 << 20);
  EXPECT_EQ(OpensUntilFound("more", ".npy", 5000), 0u);
  EXPECT_TRUE(finder_->jobs().empty());
}

TEST_F(JobFinderTest, WhatWasLookedForInVainIsFoundALittleLater) {
  for (int i = 0; i < 20; ++i) tree_.File(absl::StrCat("few/", i, ".jpg"));
  catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
  dataset_ = *Dataset::Make(catalogue_, ViewConfig(), "");
  Make(1 << 20);
  for (int i = 0; i < 8; ++i) {
    const EntryId file = *catalogue_->FindPath(absl::StrCat("few/", i, ".jpg"));
    EXPECT_EQ(finder_->Opened(file, 0, milliseconds(1)), nullptr);
  }
  EXPECT_EQ(OpensUntilFound("train", ".jpg"), 32u + 8u);
}

TEST_F(JobFinderTest, MemoryIsForThoseThatWereReadLast) {
  Make(2 * 300 * FollowedJob::kBytesPerFile);
  OpensUntilFound("train", ".jpg");
  OpensUntilFound("train", ".json");
  OpensUntilFound("val", ".jpg");
  ASSERT_EQ(finder_->jobs().size(), 2u);
  EXPECT_EQ(finder_->jobs().back().job.index().path(), "train");
  Make(300 * FollowedJob::kBytesPerFile - 1);
  EXPECT_EQ(OpensUntilFound("train", ".jpg"), 0u) << "too many for memory";
}

}  // namespace
}  // namespace shufflefs
