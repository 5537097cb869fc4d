// SPDX-License-Identifier: Apache-2.0
#include "core/records/epoch/record_staging.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/records/epoch/record_epoch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/records/containers/record_fixture.h"
#include "tests/core/records/content/record_producer_fixture.h"

namespace shufflefs {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::PolicyOf;
using testing_support::TempTree;
using testing_support::TestPool;

constexpr uint64_t kRecord = 1024;
constexpr uint64_t kRecords = 4096;
constexpr uint64_t kBytes = kRecords * kRecord;
constexpr uint64_t kPage = 4096;

// Containers 1.bin, 2.bin and small.bin of fixed records.
class RecordStagingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tree_.File("1.bin", std::string(kBytes, 'x'));
    tree_.File("2.bin", std::string(kBytes, 'x'));
    tree_.File("small.bin", std::string(5 * kRecord, 'x'));
    ViewConfig config;
    config.record.as = "*.bin:fixed";
    config.record.bytes = kRecord;
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    containers_ =
        std::make_shared<ContainerSet>(*Dataset::Make(catalogue_, config, ""),
                                       *RecordRules::Parse(config.record));
    containers_->Index(tree_.Source(), {});
    RecordStaging::Options options;
    options.changed = [this] { ++changes_; };
    options.repeats_by = "met.repeat";
    staging_ = std::make_shared<RecordStaging>(catalogue_, std::move(options));
  }
  EntryId Entry(const char* path) { return *catalogue_->FindPath(path); }

  std::shared_ptr<RecordEpoch> Epoch_(uint64_t epoch, uint64_t repeat = 4) {
    PolicyOptions options;
    options.Set("reimu.block", 16384);
    options.Set("reimu.window", 4);
    options.Set("met.mini_epochs", 8);
    options.Set("met.repeat", repeat);
    options.Set("met.epochs", 8);
    RecordEpoch::Parts parts;
    parts.containers = containers_;
    parts.producer = test_.pool;
    parts.staging = staging_;
    parts.policy = PolicyOf("met", options);
    parts.seed = Seed(1);
    parts.epoch = Epoch(epoch);
    parts.live = true;
    return std::make_shared<RecordEpoch>(std::move(parts));
  }
  void Read(RecordEpoch& epoch, EntryId file, uint64_t offset,
            uint64_t length = 1000) {
    epoch.Read(file, offset, length,
               [](absl::StatusOr<absl::Span<const iovec>> got) {
                 EXPECT_TRUE(got.ok()) << got.status();
               });
    test_.asked->ComeAll();
  }
  std::set<uint64_t> PagesOf(uint64_t set) {
    std::set<uint64_t> pages;
    for (const StagedRange& range : staging_->RangesOf(set)) {
      EXPECT_EQ(range.from % kPage, 0u);
      EXPECT_TRUE(range.end() % kPage == 0 || range.end() == kBytes);
      for (uint64_t at = range.from; at < range.end(); at += kPage) {
        pages.insert(at / kPage);
      }
    }
    return pages;
  }

  TempTree tree_;
  TestPool test_{RecordProducer::kLeastMemory};
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<ContainerSet> containers_;
  std::shared_ptr<RecordStaging> staging_;
  int changes_ = 0;
};

// As a reader goes through the file, each mini-epoch is wanted while it is
// read, and the next one too; every byte that is read is of one that was.
TEST_F(RecordStagingTest, WhatIsReadAndWhatComesNextIsWanted) {
  const auto epoch = Epoch_(0);
  const EntryId a = Entry("1.bin");
  EXPECT_THAT(staging_->WantedSets(), IsEmpty());
  std::vector<std::vector<uint64_t>> wishes;
  std::set<uint64_t> wanted_pages;
  for (uint64_t at = 0; at < epoch->bytes(a); at += 1000) {
    Read(*epoch, a, at);
    const std::vector<uint64_t> now = staging_->WantedSets();
    ASSERT_FALSE(now.empty());
    if (wishes.empty() || wishes.back() != now) {
      wishes.push_back(now);
      for (const uint64_t set : now) wanted_pages.merge(PagesOf(set));
    }
  }
  // Two mini-epochs of eight, four times each.
  ASSERT_THAT(wishes, SizeIs(2));
  EXPECT_EQ(changes_, 2);
  ASSERT_THAT(wishes[0], SizeIs(2));
  EXPECT_THAT(wishes[1], ::testing::ElementsAre(wishes[0][1]));
  for (const auto& [page, times] : test_.asked->pages()) {
    EXPECT_TRUE(wanted_pages.contains(page.second)) << page.second;
  }
  const double share = static_cast<double>(wanted_pages.size() * kPage) /
                       static_cast<double>(kBytes);
  EXPECT_NEAR(share, 0.25, 0.03);
  EXPECT_THAT(staging_->RangesOf(wishes[0][0]), IsEmpty()) << "no more";
}

TEST_F(RecordStagingTest, EachFileThatIsReadHasItsOwn) {
  const auto epoch = Epoch_(0);
  Read(*epoch, Entry("1.bin"), 0);
  const std::vector<uint64_t> one = staging_->WantedSets();
  Read(*epoch, Entry("2.bin"), 5000);
  const std::vector<uint64_t> two = staging_->WantedSets();
  ASSERT_THAT(two, SizeIs(4));
  // First what is read, the last first.
  EXPECT_EQ(two[1], one[0]);
  EXPECT_EQ(two[3], one[1]);
  EXPECT_EQ(staging_->RangesOf(two[0]).front().file, Entry("2.bin"));
  // Who has closed one and opens another has done with it.
  epoch->Close(Entry("1.bin"));
  EXPECT_THAT(staging_->WantedSets(), SizeIs(4));
  const auto next = Epoch_(1);
  Read(*next, Entry("2.bin"), 0);
  EXPECT_THAT(staging_->WantedSets(), SizeIs(4));
  EXPECT_THAT(staging_->RangesOf(one[0]), IsEmpty());
}

TEST_F(RecordStagingTest, WhatComesOnceIsNotCopied) {
  Read(*Epoch_(0, /*repeat=*/1), Entry("1.bin"), 0);
  EXPECT_THAT(staging_->WantedSets(), IsEmpty());
  // Of one block: there is but one mini-epoch.
  Read(*Epoch_(0), Entry("small.bin"), 0);
  EXPECT_THAT(staging_->WantedSets(), IsEmpty());
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(staging_->status().mini_epochs, 1u);
  EXPECT_EQ(staging_->status().factor, 1u);
}

TEST_F(RecordStagingTest, StatusSaysWhereTheReaderIs) {
  const auto epoch = Epoch_(5);
  const EntryId a = Entry("1.bin");
  Read(*epoch, a, 0);
  MiniEpochStatus status = staging_->status();
  EXPECT_EQ(status.pass, 1u);
  EXPECT_EQ(status.mini_epoch, 2u);
  EXPECT_EQ(status.mini_epochs, 8u);
  EXPECT_EQ(status.repetition, 1u);
  EXPECT_EQ(status.factor, 4u);
  EXPECT_EQ(status.why, "4, as met.repeat says");
  EXPECT_FALSE(status.ready);
  for (const uint64_t set : staging_->WantedSets()) staging_->SetReady(set);
  EXPECT_TRUE(staging_->status().ready);
  Read(*epoch, a, kBytes / 8 + 20000);
  EXPECT_EQ(staging_->status().repetition, 2u);
  Read(*epoch, a, epoch->bytes(a) - 1);
  status = staging_->status();
  EXPECT_EQ(status.mini_epoch, 3u);
  EXPECT_EQ(status.repetition, 4u);
  EXPECT_TRUE(status.ready);
}

TEST_F(RecordStagingTest, WhereAllFitAllAreWanted) {
  RecordStaging::Options options;
  options.whole = containers_->files();
  const RecordStaging all(catalogue_, std::move(options));
  ASSERT_THAT(all.WantedSets(), SizeIs(1));
  std::map<EntryId, uint64_t> bytes;
  for (const StagedRange& range : all.RangesOf(all.WantedSets().front())) {
    EXPECT_EQ(range.from, bytes[range.file]);
    bytes[range.file] += range.length;
  }
  EXPECT_EQ(bytes.size(), 3u);
  EXPECT_EQ(bytes[Entry("1.bin")], kBytes);
  EXPECT_EQ(bytes[Entry("small.bin")], 5 * kRecord);
}

}  // namespace
}  // namespace shufflefs
