// SPDX-License-Identifier: Apache-2.0
// What readers get by the tier: the source's bytes, whatever happens to those
// in the tier, and each file read from the source once.
#include "core/staging/stager/tier_source.h"

#include <errno.h>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::Asked;
using testing_support::RandomBytes;
using testing_support::SetPlan;
using testing_support::Slurp;
using testing_support::Spill;
using testing_support::TierFixture;

class TierSourceTest : public TierFixture {
 protected:
  // Small files, so that each is one read.
  void SmallSource(int files) {
    for (int i = 0; i < files; ++i) {
      Rng rng{RandomKey(i)};
      tree_.File("f" + std::to_string(100 + i), RandomBytes(rng, 9000 + i));
    }
    Scan();
  }
};

TEST_F(TierSourceTest, StagedFilesAreReadFromTheTierByteForByte) {
  for (const uint64_t seed : {1, 2}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Source(seed, 80);
    plan_ = std::make_shared<SetPlan>();
    Open();
    Stage(1, files_);
    const uint64_t reads = reader_->stats().reads;
    ReadAll(files_);
    Rng rng{RandomKey(seed)};
    uint64_t bytes = TreeBytes(files_);
    for (int i = 0; i < 200; ++i) {
      const EntryId file = files_[rng.Bounded(files_.size())];
      const uint64_t size = contents_.at(file).size();
      const uint64_t offset =
          rng.Bounded(size) / kReadAlignment * kReadAlignment;
      const uint64_t length = 1 + rng.Bounded(size - offset);
      bytes += length;
      if (i % 2 == 0) {
        Ask(file, offset, length);
      } else {
        source_->FetchNow(asked_.emplace_back(file, offset, length).Piece());
      }
    }
    ExpectAllRight();
    EXPECT_EQ(reader_->stats().reads, reads);
    EXPECT_EQ(tier_->status().tier_bytes, bytes);
    EXPECT_EQ(tier_->status().source_bytes, 0u);
    EXPECT_THAT(source_->how(), StartsWith("performance tier, else files by"));
    source_ = nullptr;
    tier_ = nullptr;
  }
}

TEST_F(TierSourceTest, DamageIsAnsweredByTheSourceAndMended) {
  Source(3, 40);
  Tier::Options options = Options();
  options.retry = std::chrono::milliseconds(200);
  Open(options);
  Stage(1, files_);
  for (size_t i = 0; i < 5; ++i) {
    Damage(files_[i * 3], contents_.at(files_[i * 3]).size() - 1);
  }
  testing::internal::CaptureStderr();
  ReadAll(files_);
  plan_->WaitReady(1, 2);
  Until([&] { return tier_->status().health.empty(); });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(log, "warning: tier.path"), 1) << log;
  EXPECT_THAT(log, HasSubstr(place_.root()));
  EXPECT_THAT(log, HasSubstr("the checksum differs"));
  const uint64_t from_source = tier_->status().source_bytes;
  EXPECT_GT(from_source, 0u);
  ReadAll(files_);
  EXPECT_EQ(tier_->status().source_bytes, from_source);
}

TEST_F(TierSourceTest, APartThatIsDeletedUnderWayIsNoError) {
  Source(4, 40);
  Open();
  Stage(1, files_);
  for (const std::string& name : Parts()) {
    ASSERT_EQ(unlink(TierPath(name).c_str()), 0);
  }
  ReadAll(files_);
  plan_->WaitReady(1, 2);
  const uint64_t reads = reader_->stats().reads;
  ReadAll(files_);
  EXPECT_EQ(reader_->stats().reads, reads);
}

TEST_F(TierSourceTest, ErrorsOfTheSourceArePassedOn) {
  Source(5, 20);
  Spill(tree_.At(catalogue_->path(files_[3])), "another");
  Open();
  Stage(1, files_);  // and is ready, without it
  for (const EntryId file : files_) {
    const absl::Status status = Ask(file).Wait();
    if (file != files_[3]) {
      EXPECT_TRUE(status.ok()) << status;
      continue;
    }
    EXPECT_EQ(ErrnoOf(status), ESTALE);
    EXPECT_THAT(std::string(status.message()),
                StartsWith(catalogue_->path(file)));
  }
  EXPECT_TRUE(tier_->status().health.empty());
}

// The copy is of the catalogue's file.
TEST_F(TierSourceTest, AFileThatChangesAfterItWasStagedStaysAsItWas) {
  Source(6, 20);
  Open();
  Stage(1, files_);
  Spill(tree_.At(catalogue_->path(files_[3])), "another");
  ReadAll(files_);
}

TEST_F(TierSourceTest, GoesOnFromTheSourceWhenTheTierIsGone) {
  Source(7, 30);
  Open();
  Stage(1, files_);
  for (const EntryId file : files_) Ask(file);
  tier_ = nullptr;
  ExpectAllRight();
  ReadAll(files_);
}

TEST_F(TierSourceTest, WhatIsOnItsWayIsNotReadTwice) {
  SmallSource(20);
  const std::string held = catalogue_->path(files_[2]);
  reader_->Hold(held);
  Open();
  plan_->Put(1, Whole(files_));
  plan_->Want({1});
  tier_->Changed();
  Until([&] { return reader_->waiting(held) == 1; });
  Ask(files_[2]);
  const uint64_t size = contents_.at(files_[2]).size();
  Ask(files_[2], 0, size);
  if (size > kReadAlignment) Ask(files_[2], kReadAlignment, 1);
  EXPECT_EQ(asked_.front().calls(), 0);
  reader_->Release(held);
  ExpectAllRight();
  plan_->WaitReady(1);
  EXPECT_EQ(reader_->stats().reads, files_.size());
  EXPECT_EQ(tier_->status().source_bytes, 0u);
}

// Whoever waits for a file that cannot be staged asks the source himself.
TEST_F(TierSourceTest, WhoWaitsForAReadThatFailsReadsAgain) {
  SmallSource(20);
  const std::string held = catalogue_->path(files_[2]);
  reader_->Fail(held, EIO, 1);
  reader_->Hold(held);
  Open();
  plan_->Put(1, Whole(files_));
  plan_->Want({1});
  tier_->Changed();
  Until([&] { return reader_->waiting(held) == 1; });
  Ask(files_[2]);
  reader_->Release(held);
  ExpectAllRight();
  plan_->WaitReady(1);
}

TEST_F(TierSourceTest, WhatReadersBringIsKept) {
  SmallSource(40);
  const std::string held = catalogue_->path(files_[0]);
  reader_->Hold(held);
  Tier::Options options = Options();
  options.bandwidth = 1 << 16;  // steps of one file
  Open(options);
  plan_->Put(1, Whole(files_));
  plan_->Want({1});
  tier_->Changed();
  Until([&] { return reader_->waiting(held) == 1; });
  ReadAll({files_.begin() + 1, files_.end()});
  reader_->Release(held);
  plan_->WaitReady(1);
  EXPECT_EQ(reader_->stats().reads, files_.size());
  const TierStatus status = tier_->status();
  EXPECT_EQ(status.copied_bytes, contents_.at(files_[0]).size());
  EXPECT_EQ(status.captured_bytes + status.copied_bytes, TreeBytes(files_));
  EXPECT_EQ(status.source_bytes, status.captured_bytes);
  ReadAll(files_);
  EXPECT_EQ(reader_->stats().reads, files_.size());
}

}  // namespace
}  // namespace shufflefs
