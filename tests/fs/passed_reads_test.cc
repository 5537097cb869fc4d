// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/passed_reads.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/served_dataset.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"

namespace shufflefs {
namespace {

using OpenIs = PassTracker::OpenIs;
using testing_support::ContainerConfig;
using testing_support::ContainerTools;
using testing_support::TempTree;
using testing_support::TestPool;

constexpr uint64_t kBytes = 20'000;
constexpr uint64_t kPage = 1000;
constexpr uint32_t kReader = 7;

// Three containers and a file that is none.
class PassedReadsTest : public ::testing::Test {
 protected:
  PassedReadsTest() {
    for (int i = 0; i < 3; ++i) {
      paths_.push_back(absl::StrCat("d/", i, ".bin"));
      tree_.File(paths_.back(), std::string(kBytes, 'x'));
    }
    tree_.File("README", "text");
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    for (const std::string& path : paths_) {
      files_.push_back(*catalogue_->FindPath(path));
    }
    Serve();
  }

  // Makes a view that waits.
  void Serve() {
    View::Parts parts;
    parts.tools = ContainerTools(tree_, test_.pool);
    parts.setup =
        *MakeViewSetup(ContainerConfig(), catalogue_, parts.tools, nullptr);
    parts.job_tracker = &job_tracker_;
    parts.on_rebind = [](bool) {};
    parts.read_before = ReadBefore::kSomething;
    std::vector<std::unique_ptr<View>> views;
    views.push_back(std::make_unique<View>(std::move(parts)));
    served_ = std::make_unique<ServedDataset>(
        catalogue_,
        std::make_unique<PlainReads>(
            PlainReads::Parts{&source_, catalogue_, 8}),
        std::move(views), OpensSeen());
  }
  RecordEpoch& epoch() { return *served_->views()[0]->records(); }
  OpenIs OpenAs(EntryId file) {
    return epoch().Open(file, {kReader, kReader, kReader},
                        [](uint32_t) { return false; });
  }

  TempTree tree_;
  SourceDir source_ = tree_.Source();
  std::vector<std::string> paths_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::vector<EntryId> files_;
  TestPool test_{64 << 20};
  JobTracker job_tracker_;
  std::unique_ptr<ServedDataset> served_;
};

TEST_F(PassedReadsTest, SaysWhetherAnythingWasRead) {
  PassedReads reads;
  EXPECT_EQ(reads.Summary().what, ReadBefore::kNothing);
  reads.NoteUse("a");
  EXPECT_EQ(reads.Summary().what, ReadBefore::kSomething);
  EXPECT_THAT(reads.Summary().paths, ::testing::ElementsAre("a"));
}

TEST_F(PassedReadsTest, SaysThatSomethingWasTooMuchToBeNoted) {
  PassedReads files;
  PassedReads pieces;
  for (uint64_t i = 0; i < PassedReads::kMost; ++i) {
    files.NoteRead(absl::StrCat(i), 0, 1);
    pieces.NoteRead("a", 2 * i, 2 * i + 1);
  }
  EXPECT_TRUE(files.Summary().complete);
  EXPECT_TRUE(pieces.Summary().complete);
  files.NoteOpen(1, "another");
  pieces.NoteRead("a", 2 * PassedReads::kMost, 2 * PassedReads::kMost + 1);
  EXPECT_FALSE(files.Summary().complete);
  EXPECT_FALSE(pieces.Summary().complete);
}

// In whatever order descriptors are opened, read and closed, and whenever the
// view comes: it counts what was read, and knows what is open.
TEST_F(PassedReadsTest, TheViewCountsAsIfItHadBeenThere) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < 100; ++round) {
    Serve();
    PassedReads reads;
    reads.NoteRead("README", 0, 4);
    reads.NoteRead("gone", 0, 4);
    std::vector<std::vector<bool>> read(
        files_.size(), std::vector<bool>(kBytes / kPage, false));
    std::vector<uint32_t> open;  // nodes: that of a file has its number
    std::vector<bool> opened(files_.size(), false);
    const int steps = static_cast<int>(rng.Bounded(200));
    const int begins = static_cast<int>(rng.Bounded(steps + 1));
    for (int step = 0; step <= steps; ++step) {
      if (step == begins) reads.Begin(*served_);
      const auto file = static_cast<uint32_t>(rng.Bounded(files_.size()));
      if (rng.Bounded(4) == 0 && step < begins) {
        reads.NoteOpen(file, paths_[file]);
        open.push_back(file);
        opened[file] = true;
      } else if (rng.Bounded(4) == 0 && !open.empty()) {
        reads.NoteClosed(open.back());
        open.pop_back();
      } else {
        const uint64_t page = rng.Bounded(kBytes / kPage);
        const uint64_t pages = 1 + rng.Bounded(kBytes / kPage - page);
        reads.NoteRead(paths_[file], page * kPage, (page + pages) * kPage);
        std::fill_n(read[file].begin() + static_cast<std::ptrdiff_t>(page),
                    pages, true);
      }
    }
    uint64_t complete = 0;
    for (const std::vector<bool>& pages : read) {
      complete += std::count(pages.begin(), pages.end(), true) ==
                          static_cast<std::ptrdiff_t>(pages.size())
                      ? 1
                      : 0;
    }
    EXPECT_EQ(epoch().complete(), complete);
    if (complete < files_.size()) continue;
    for (uint32_t file = 0; file < files_.size(); ++file) {
      OpenIs expected = OpenIs::kOfThisPass;
      if (opened[file]) {
        const auto held = std::count(open.begin(), open.end(), file);
        expected = held > 0 ? OpenIs::kUnclear : OpenIs::kTheNextPass;
      }
      EXPECT_EQ(OpenAs(files_[file]), expected);
    }
  }
}

// What is read by an old descriptor counts for no later epoch.
TEST_F(PassedReadsTest, AnEpochThatEndedIsLeftAlone) {
  PassedReads reads;
  reads.NoteOpen(1, paths_[0]);
  reads.Begin(*served_);
  View& view = *served_->views()[0];
  ControlRequest next;
  next.config = view.config();
  next.next_epoch = true;
  ASSERT_EQ(view.Install(*view.Prepare(next)), absl::OkStatus());
  reads.NoteRead(paths_[0], 0, kBytes);
  reads.NoteClosed(1);
  reads.NoteOpen(2, paths_[1]);
  EXPECT_EQ(epoch().complete(), 0u);
  EXPECT_EQ(OpenAs(files_[1]), OpenIs::kOfThisPass);
}

}  // namespace
}  // namespace shufflefs
