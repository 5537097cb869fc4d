// SPDX-License-Identifier: Apache-2.0
// JobFinder assigns reads to jobs.
#include "core/sampler/job_finder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/sampler/search/torch_random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::SoakRounds;
using testing_support::TempTree;

// All readers are hidden: one family.
class JobFinderTest : public testing::Test {
 protected:
  JobFinderTest() : job_tracker_(proc_.root()) {
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
    finder_.emplace(dataset_, job_tracker_,
                    JobFinder::Options{{}, memory_bytes});
  }
  // How many of these opens it took until a job was found; 0: none was.
  uint64_t OpensUntilFound(const std::string& dir, const std::string& kind,
                           uint64_t opens = 300) {
    for (uint64_t i = 0; i < opens; ++i) {
      const std::string path =
          dir == "more" ? absl::StrCat(dir, "/", i % 20, kind)
                        : absl::StrCat(dir, "/c", i % 3, "/", 1000 + i, kind);
      const EntryId file = *catalogue_->FindPath(path);
      if (finder_->Opened(file, 0, now_) != nullptr) return i + 1;
    }
    return 0;
  }

  TempTree proc_;
  TempTree tree_;
  JobTracker job_tracker_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<const Dataset> dataset_;
  std::optional<JobFinder> finder_;
  milliseconds now_{1};
};

// Of 300 files among some 600 entries.
constexpr uint64_t kBytesOfOne = 300 * (FollowedJob::kBytesPerFile + 5);

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
  Make(2 * kBytesOfOne);
  OpensUntilFound("train", ".jpg");
  OpensUntilFound("train", ".json");
  now_ += JobFinder::kKept;
  OpensUntilFound("val", ".jpg");
  ASSERT_EQ(finder_->jobs().size(), 2u);
  EXPECT_EQ(finder_->jobs().back().job.index().path(), "train");
  EXPECT_EQ(finder_->warning(), "");
  Make(300 * FollowedJob::kBytesPerFile);
  EXPECT_EQ(OpensUntilFound("train", ".jpg"), 0u) << "too many for memory";
  EXPECT_THAT(finder_->warning(), HasSubstr("train: this job is not followed"));
}

TEST_F(JobFinderTest, JobsThatDoNotFitTogetherDoNotPushEachOtherOut) {
  Make(2 * kBytesOfOne);
  OpensUntilFound("train", ".jpg");
  OpensUntilFound("val", ".jpg");
  const uint64_t first = finder_->jobs().back().id;
  const uint64_t second = finder_->jobs().front().id;
  for (int turn = 0; turn < 50; ++turn) {
    OpensUntilFound("train", ".jpg", 8);
    EXPECT_EQ(OpensUntilFound("train", ".json", 8), 0u);
    OpensUntilFound("val", ".jpg", 8);
    ASSERT_NE(finder_->Find(first), nullptr) << turn;
    ASSERT_NE(finder_->Find(second), nullptr) << turn;
  }
}

// Memory is taken for every entry of the directory.
TEST_F(JobFinderTest, AFewFilesAmongManyTakeTheMemoryOfAll) {
  for (int i = 0; i < 5000; ++i) {
    tree_.File(absl::StrCat("train/c0/", i, ".txt"));
  }
  catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
  dataset_ = *Dataset::Make(catalogue_, ViewConfig(), "");
  Make(kBytesOfOne);
  EXPECT_EQ(OpensUntilFound("train", ".jpg"), 0u);
  Make(kBytesOfOne + 5000 * 4);
  EXPECT_EQ(OpensUntilFound("train", ".jpg"), 8u);
}

// Two loaders of one script, each with a worker.
class TwoLoadersTest : public JobFinderTest {
 protected:
  static constexpr uint32_t kMany = 3000;
  // Opens of each, far fewer than all, that tell both orders.
  static constexpr uint32_t kHalf = 400;

  TwoLoadersTest() {
    for (uint32_t i = 0; i < kMany; ++i) {
      tree_.File(absl::StrCat("big/c", i % 3, "/", 10000 + i, ".jpg"));
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    dataset_ = *Dataset::Make(catalogue_, ViewConfig(), "");
    AddProcess(50, 1, "/usr/bin/bash");
    for (const uint32_t loader : {100, 200}) {
      AddProcess(loader, 50, "/usr/bin/python3");
      AddProcess(loader + 1, loader, "/usr/bin/python3");
    }
  }
  void AddProcess(uint32_t id, uint32_t parent, const std::string& program) {
    const std::filesystem::path dir =
        std::filesystem::path(proc_.root()) / std::to_string(id);
    std::filesystem::create_directories(dir);
    std::ofstream(dir / "stat") << id << " (x) S " << parent
                                << " 50 1 34816 2000 4194560 1 2 3 4 5 6 7 8 "
                                   "20 0 1 0 100 16000000 1500\n";
    std::ofstream(dir / "status") << "Tgid:\t" << id << "\n";
    std::filesystem::create_symlink(program, dir / "exe");
  }
  // ImageFolder's number of the file, to which a seed gives an order.
  EntryId FileOf(uint32_t index) {
    const uint32_t each = kMany / 3;
    return *catalogue_->FindPath(
        absl::StrCat("big/c", index / each, "/",
                     10000 + index / each + 3 * (index % each), ".jpg"));
  }
  void Open(uint32_t reader, uint32_t index) {
    OpenUnseen(reader, index);
    Look();
  }
  void OpenUnseen(uint32_t reader, uint32_t index) {
    finder_->Opened(FileOf(index), reader, milliseconds(1));
  }
  void Look() {
    while (finder_->Work()) {
    }
  }
  std::set<std::string> Orders() {
    std::set<std::string> orders;
    for (const JobFinder::Found& found : finder_->jobs()) {
      orders.insert(found.job.status().order);
    }
    return orders;
  }

  const std::vector<uint32_t> one_ = TorchRandperm(kMany, 42);
  const std::vector<uint32_t> other_ = TorchRandperm(kMany, 43);
};

TEST_F(TwoLoadersTest, AreJobsOfTheirOwnWhereTheirOrdersDiffer) {
  Make(1 << 20);
  for (uint32_t i = 0; i < 240; ++i) {
    Open(101, one_[i]);
    Open(201, other_[i]);
  }
  EXPECT_EQ(finder_->jobs().size(), 2u);
  EXPECT_THAT(Orders(), ElementsAre(HasSubstr("= 42"), HasSubstr("= 43")));
}

TEST_F(TwoLoadersTest, TheOneThatWasKnownBeforeStaysKnown) {
  Make(1 << 20);
  for (uint32_t i = 0; i < 60; ++i) Open(101, one_[i]);
  EXPECT_THAT(Orders(), ElementsAre(HasSubstr("= 42")));
  const uint64_t id = finder_->jobs().front().id;
  for (uint32_t i = 0; i < 150; ++i) {
    Open(101, one_[60 + i]);
    Open(201, other_[i]);
    ASSERT_TRUE(finder_->Find(id)->job.is_foreseen()) << i;
  }
  EXPECT_THAT(Orders(), ElementsAre(HasSubstr("= 42"), HasSubstr("= 43")));
}

// Nobody sees that what is in the kernel's memory is read again.
TEST_F(TwoLoadersTest, AreKnownWhereNothingIsSeenTwice) {
  Make(1 << 20);
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < 160; ++i) {
    if (seen.insert(one_[i]).second) Open(101, one_[i]);
    if (seen.insert(other_[i]).second) Open(201, other_[i]);
  }
  EXPECT_THAT(Orders(), ElementsAre(HasSubstr("= 42"), HasSubstr("= 43")));
}

// Whichever reads how far while the other waits, and however late the opens
// are looked at.
TEST_F(TwoLoadersTest, AreKnownInWhateverTurnsTheyRead) {
  for (uint32_t seed = 0; seed < SoakRounds(12u, 40u); ++seed) {
    std::mt19937 random(seed);
    Make(1 << 20);
    const auto below = [&](uint32_t most) {
      return 1 + static_cast<uint32_t>(random() % most);
    };
    const uint32_t most_in_turn = 1U << below(9);
    const uint32_t most_unseen = 1U << below(7);
    uint32_t read[2] = {0, 0};
    uint32_t unseen = 0;
    for (uint32_t turn = random() % 2; read[0] + read[1] < 2 * kHalf; ++turn) {
      uint32_t& at = read[turn % 2];
      const uint32_t end = std::min(kHalf, at + below(most_in_turn));
      for (; at < end; ++at) {
        OpenUnseen(turn % 2 == 0 ? 101 : 201,
                   turn % 2 == 0 ? one_[at] : other_[at]);
        if (++unseen >= most_unseen) {
          Look();
          unseen = 0;
        }
      }
    }
    Look();
    EXPECT_THAT(Orders(), ElementsAre(HasSubstr("= 42"), HasSubstr("= 43")))
        << "seed " << seed;
    EXPECT_EQ(finder_->jobs().size(), 2u) << "seed " << seed;
  }
}

// A search of all seeds needs the opens of all ranks.
TEST_F(TwoLoadersTest, RanksOfAnOrderThatNobodyKnowsAreOneJob) {
  const std::vector<uint32_t> order = TorchRandperm(kMany, 3141592653);
  for (uint32_t seed = 0; seed < SoakRounds(3u, 8u); ++seed) {
    std::mt19937 random(seed);
    Make(1 << 20);
    for (uint32_t epoch = 0; epoch < 2; ++epoch) {
      uint32_t read[2] = {0, 0};
      while (read[0] + read[1] < kMany) {
        const uint32_t rank = random() % 2;
        const uint32_t end =
            std::min<uint32_t>(kMany / 2, read[rank] + random() % 60);
        for (; read[rank] < end; ++read[rank]) {
          Open(rank == 0 ? 101 : 201, order[2 * read[rank] + rank]);
        }
        ASSERT_LE(finder_->jobs().size(), 1u) << "seed " << seed;
      }
    }
  }
}

// Who tells of an open holds a lock that `status` wants.
TEST_F(TwoLoadersTest, OpensTestNoOrders) {
  Make(1 << 20);
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < 160; ++i) {
    if (seen.insert(one_[i]).second) OpenUnseen(101, one_[i]);
    if (seen.insert(other_[i]).second) OpenUnseen(201, other_[i]);
  }
  ASSERT_EQ(finder_->jobs().size(), 1u);
  Look();
  EXPECT_THAT(Orders(), ElementsAre(HasSubstr("= 42"), HasSubstr("= 43")));
}

TEST_F(TwoLoadersTest, AJobThatEndsIsInDoubtNoMore) {
  Make(kMany * FollowedJob::kBytesPerFile + 2 * kBytesOfOne);
  for (uint32_t i = 0; i < 160; ++i) {
    OpenUnseen(101, one_[i]);
    OpenUnseen(201, other_[(i + kMany / 2) % kMany]);
  }
  const uint64_t id = finder_->jobs().front().id;
  finder_->Work();
  now_ += JobFinder::kKept;
  // Takes the memory of the first.
  OpensUntilFound("train", ".jpg");
  OpensUntilFound("val", ".jpg");
  OpensUntilFound("train", ".json");
  ASSERT_EQ(finder_->Find(id), nullptr);
  Look();
  EXPECT_EQ(finder_->jobs().size(), 3u);
}

TEST_F(TwoLoadersTest, WithoutMemoryForTwoTheyStayOne) {
  Make(kMany * FollowedJob::kBytesPerFile + 100);
  for (uint32_t i = 0; i < 300; ++i) {
    Open(101, one_[i]);
    Open(201, other_[i]);
  }
  EXPECT_EQ(finder_->jobs().size(), 1u);
}

}  // namespace
}  // namespace shufflefs
