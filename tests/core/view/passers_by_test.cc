// SPDX-License-Identifier: Apache-2.0
// Passes over containers while another program reads them, too. Passes do not
// tell readers apart: these tests say what a job gets by that.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/view/view.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"

namespace shufflefs {
namespace {

using testing_support::ContainerConfig;
using testing_support::ContainerParts;
using testing_support::ContainerTools;
using testing_support::TempTree;
using testing_support::TestPool;
using Epochs = std::vector<uint64_t>;
using Verdict = View::OpenVerdict;

constexpr uint64_t kBytes = 200000;
constexpr uint32_t kFiles = 4;

// Four containers that share their records.
class PassersByTest : public ::testing::Test {
 protected:
  static constexpr int32_t kPasserBy = 900000;

  void SetUp() override {
    const auto name = [](uint32_t i) {
      return absl::StrCat("s-0000", i, "-of-00004.bin");
    };
    for (uint32_t i = 0; i < kFiles; ++i) {
      tree_.File(name(i), std::string(kBytes, 'x'));
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    for (uint32_t i = 0; i < kFiles; ++i) {
      files_.push_back(*catalogue_->FindPath(name(i)));
    }
    Start();
  }
  // Makes a view of which nothing was read.
  void Start() {
    ViewConfig config = ContainerConfig();
    config.record.scope = RecordScope::kSet;
    auto parts = ContainerParts(
        config, catalogue_, ContainerTools(tree_, test_.pool), job_tracker_);
    ASSERT_TRUE(parts.ok()) << parts.status();
    view_ = std::make_unique<View>(*std::move(parts));
  }

  // Returns the epoch that the descriptor reads.
  std::shared_ptr<RecordEpoch> Open(uint32_t number, int32_t reader) {
    for (;;) {
      std::shared_ptr<RecordEpoch> epoch =
          view_->LookupContainer(files_[number]);
      if (view_->OpenContainer(files_[number], *epoch, reader) ==
          Verdict::kServe) {
        return epoch;
      }
    }
  }
  void Deliver(RecordEpoch& epoch, uint32_t number, uint64_t begin,
               uint64_t end) {
    epoch.Read(files_[number], begin, end - begin,
               [](absl::StatusOr<absl::Span<const iovec>> got) {
                 EXPECT_TRUE(got.ok()) << got.status();
               });
    test_.asked->ComeAll();
  }
  // Reads a container to the end. Returns the epoch that showed it.
  uint64_t Read(uint32_t number, int32_t reader) {
    const std::shared_ptr<RecordEpoch> epoch = Open(number, reader);
    for (uint64_t at = 0; at < kBytes; at += 100000) {
      Deliver(*epoch, number, at, at + 100000);
    }
    epoch->Close(files_[number]);
    return epoch->epoch().value();
  }
  Epochs ReadAll(int32_t reader) {
    Epochs epochs;
    for (uint32_t i = 0; i < kFiles; ++i) epochs.push_back(Read(i, reader));
    return epochs;
  }
  // A pass of a job of `workers` processes, which are new in each pass. Calls
  // `meanwhile` when half of the containers are read.
  template <typename Meanwhile>
  Epochs PassOf(uint32_t workers, Meanwhile&& meanwhile) {
    Epochs epochs;
    for (uint32_t i = 0; i < kFiles; ++i) {
      if (i == kFiles / 2) meanwhile();
      epochs.push_back(
          Read(i, next_process_ + static_cast<int32_t>(i % workers)));
    }
    next_process_ += static_cast<int32_t>(workers);
    return epochs;
  }
  Epochs PassOf(uint32_t workers) {
    return PassOf(workers, [] {});
  }

  TempTree tree_;
  TestPool test_{64 << 20};
  JobTracker job_tracker_{tree_.At("proc")};  // where no process is
  std::shared_ptr<const Catalogue> catalogue_;
  std::vector<EntryId> files_;
  std::unique_ptr<View> view_;
  int32_t next_process_ = 100000;
};

// The rest of the job's pass is of the next order, and so it is in all passes
// that follow.
TEST_F(PassersByTest, OneWhoReadsAllShiftsThePassesOfAJob) {
  for (const uint32_t workers : {1u, 2u, 4u}) {
    SCOPED_TRACE(workers);
    Start();
    const auto all = [&] { EXPECT_EQ(ReadAll(kPasserBy), Epochs(4, 0)); };
    EXPECT_EQ(PassOf(workers, all), (Epochs{0, 0, 1, 1}));
    EXPECT_EQ(PassOf(workers), (Epochs{1, 1, 2, 2}));
    EXPECT_EQ(PassOf(workers), (Epochs{2, 2, 3, 3}));
  }
}

// A worker holds a container that it has read in part. Its descriptor keeps its
// order, and what the worker opens next does not.
TEST_F(PassersByTest, OneWhoReadsAllLeavesAnOpenDescriptorItsOrder) {
  const std::shared_ptr<RecordEpoch> held = Open(0, 1);
  Deliver(*held, 0, 0, 100000);
  EXPECT_EQ(ReadAll(kPasserBy), Epochs(4, 0));
  EXPECT_EQ(Read(1, 2), 1u) << "another worker";
  Deliver(*held, 0, 100000, kBytes);
  held->Close(files_[0]);
  EXPECT_EQ(held->epoch(), Epoch(0));
  EXPECT_EQ(Read(2, 1), 1u);
  EXPECT_EQ(Read(3, 2), 1u);
}

TEST_F(PassersByTest, OneWhoReadsWhatTheJobHasReadChangesNothing) {
  const auto some = [&] {
    EXPECT_EQ(Read(0, kPasserBy), 0u);
    EXPECT_EQ(Read(1, kPasserBy), 0u);
  };
  EXPECT_EQ(PassOf(2, some), Epochs(4, 0));
  EXPECT_EQ(PassOf(2), Epochs(4, 1));
}

TEST_F(PassersByTest, OneWhoReadsTheContainerThatIsLastShiftsThePasses) {
  const auto last = [&] { EXPECT_EQ(Read(3, kPasserBy), 0u); };
  EXPECT_EQ(PassOf(2, last), (Epochs{0, 0, 0, 1}));
  EXPECT_EQ(PassOf(2), (Epochs{1, 1, 1, 2}));
}

// The next pass begins with the second container, and so do all others.
TEST_F(PassersByTest, OneWhoHoldsTheFirstContainerShiftsThePasses) {
  const auto hold = [&] { Open(0, kPasserBy); };
  EXPECT_EQ(PassOf(2, hold), Epochs(4, 0));
  EXPECT_EQ(PassOf(2), (Epochs{0, 1, 1, 1}));
  EXPECT_EQ(PassOf(2), (Epochs{1, 2, 2, 2}));
}

// It takes an epoch that the job does not see.
TEST_F(PassersByTest, OneWhoReadsBetweenTwoPassesLeavesThemWhole) {
  EXPECT_EQ(PassOf(2), Epochs(4, 0));
  EXPECT_EQ(ReadAll(kPasserBy), Epochs(4, 1));
  EXPECT_EQ(PassOf(2), Epochs(4, 2));
}

TEST_F(PassersByTest, AJobThatFollowsAnotherHasWholePasses) {
  EXPECT_EQ(PassOf(2), Epochs(4, 0));
  EXPECT_EQ(ReadAll(1), Epochs(4, 1));
  EXPECT_EQ(ReadAll(1), Epochs(4, 2));
}

// The first job ended in mid-pass. The other one begins in its order.
TEST_F(PassersByTest, AJobThatFollowsAHalfPassBeginsInItsOrder) {
  EXPECT_EQ(Read(0, 1), 0u);
  EXPECT_EQ(Read(1, 1), 0u);
  EXPECT_EQ(PassOf(2), Epochs(4, 0));
  EXPECT_EQ(PassOf(2), Epochs(4, 1));
}

}  // namespace
}  // namespace shufflefs
