// SPDX-License-Identifier: Apache-2.0
#include "core/records/epoch/record_epoch.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/records/order/record_order.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/records/content/record_producer_fixture.h"

namespace shufflefs {
namespace {

using OpenIs = PassTracker::OpenIs;
constexpr uint32_t kReader = 7;  // a thread

using testing_support::Blocks;
using testing_support::ByteAt;
using testing_support::TempTree;
using testing_support::TestPool;
using testing_support::TestRead;

constexpr uint64_t kRecords = 3000;
constexpr uint64_t kBytes = kRecords * 1000;

// By a process of its own.
OpenIs OpenBy(RecordEpoch& epoch, EntryId file, uint32_t reader) {
  return epoch.Open(file, {reader, reader, reader},
                    [](uint32_t) { return false; });
}

// Containers 1.bin and 2.bin of fixed records, and c.tar, which is none.
class RecordEpochTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"1.bin", "2.bin"}) {
      tree_.File(name, std::string(kBytes, 'x'));
    }
    tree_.File("c.tar", "no tar");
    ViewConfig config;
    config.record.as = "*.bin:fixed";
    config.record.bytes = 1000;
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    containers_ =
        std::make_shared<ContainerSet>(*Dataset::Make(catalogue_, config, ""),
                                       *RecordRules::Parse(config.record));
    a_ = *catalogue_->FindPath("1.bin");
    b_ = *catalogue_->FindPath("2.bin");
    c_ = *catalogue_->FindPath("c.tar");
  }
  void Index() { containers_->Index(tree_.Source(), {}); }
  std::shared_ptr<RecordEpoch> Make(uint64_t epoch) {
    return Make(epoch, test_.pool);
  }
  std::shared_ptr<RecordEpoch> Make(
      uint64_t epoch, std::shared_ptr<RecordProducer> pool,
      ReadBefore read_before = ReadBefore::kNothing) {
    RecordEpoch::Parts parts;
    parts.containers = containers_;
    parts.producer = std::move(pool);
    parts.policy = Blocks(65536, 4);
    parts.seed = Seed(1);
    parts.epoch = Epoch(epoch);
    parts.live = true;
    parts.read_before = read_before;
    return std::make_shared<RecordEpoch>(std::move(parts));
  }
  static std::shared_ptr<TestRead> Ask(RecordEpoch& epoch, EntryId file,
                                       uint64_t offset, uint64_t length) {
    auto read = std::make_shared<TestRead>();
    epoch.Read(file, offset, length,
               [read](absl::StatusOr<absl::Span<const iovec>> got) {
                 ++read->answers;
                 read->status = got.status();
                 if (!got.ok()) return;
                 for (const iovec& piece : *got) {
                   read->bytes.append(static_cast<const char*>(piece.iov_base),
                                      piece.iov_len);
                 }
               });
    return read;
  }
  // All bytes of a file, read from start to end.
  std::string Whole(RecordEpoch& epoch, EntryId file, uint64_t size = kBytes) {
    std::string all;
    for (uint64_t at = 0; at < size; at += 100000) {
      const auto read = Ask(epoch, file, at, 100000);
      test_.asked->ComeAll();
      EXPECT_EQ(read->answers, 1);
      EXPECT_TRUE(read->status.ok()) << read->status;
      all += read->bytes;
    }
    return all;
  }
  // What an epoch is to show.
  std::string Expected(EntryId file, uint64_t epoch) {
    std::string source(kBytes, '\0');
    for (uint64_t at = 0; at < kBytes; ++at) source[at] = ByteAt(file, at);
    ContainerShape shape;
    shape.file_bytes = kBytes;
    shape.records = std::make_shared<FixedTable>(0, 1000, kRecords);
    RecordOrderOptions options;
    options.key = containers_->key(file);
    options.seed = Seed(1);
    options.epoch = Epoch(epoch);
    const ShuffledFile shuffled(
        shape, MakeRecordOrder(*Blocks(65536, 4), *shape.records, options));
    std::string all;
    for (uint64_t part = 0; part < shuffled.part_count(); ++part) {
      all += testing_support::Apply(shuffled.Plan(part), source);
    }
    return all;
  }

  TempTree tree_;
  TestPool test_{64 << 20};
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<ContainerSet> containers_;
  EntryId a_;
  EntryId b_;
  EntryId c_;
};

TEST_F(RecordEpochTest, ReadsAreAnsweredWhenTheIndexIsThere) {
  const auto epoch = Make(3);
  EXPECT_TRUE(epoch->CanServe(a_));
  EXPECT_FALSE(epoch->IsResident(a_));
  const auto one = Ask(*epoch, a_, 5000, 777);
  const auto two = Ask(*epoch, b_, 0, 1000);
  EXPECT_EQ(test_.asked->waiting(), 0u);
  Index();
  EXPECT_GT(test_.asked->waiting(), 0u);
  test_.asked->ComeAll();
  EXPECT_EQ(one->answers, 1);
  EXPECT_EQ(one->bytes, Expected(a_, 3).substr(5000, 777));
  EXPECT_EQ(two->bytes, Expected(b_, 3).substr(0, 1000));
  EXPECT_TRUE(epoch->IsResident(a_));
}

TEST_F(RecordEpochTest, AReaderIsToldThatTheIndexDoesNotCome) {
  const auto epoch = Make(3);
  const auto read = Ask(*epoch, a_, 5000, 777);
  std::stop_source stop;
  stop.request_stop();
  ContainerSet::IndexOptions options;
  options.stop = stop.get_token();
  containers_->Index(tree_.Source(), options);
  EXPECT_EQ(read->answers, 1);
  EXPECT_EQ(read->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(containers_.use_count(), 2) << "nothing else holds it: the epoch";
}

TEST_F(RecordEpochTest, AnEpochIsTheSameWhoeverReadsAndWhenever) {
  Index();
  const auto third = Make(3);
  const auto fourth = Make(4);
  EXPECT_TRUE(Whole(*third, a_) == Expected(a_, 3));
  EXPECT_TRUE(Whole(*fourth, a_) == Expected(a_, 4));
  EXPECT_TRUE(Expected(a_, 3) != Expected(a_, 4));
  EXPECT_TRUE(Whole(*third, b_) == Expected(b_, 3));
  third->ReleaseOrders();
  EXPECT_TRUE(Whole(*third, a_) == Expected(a_, 3));
  EXPECT_EQ(third->status().pool_bytes, 0u);
}

// Of what was read before, some is told before the records are known.
TEST_F(RecordEpochTest, APassThatBeganInTheSourceEndsInItsOrder) {
  const auto epoch = Make(3, test_.pool, ReadBefore::kSomething);
  EXPECT_EQ(epoch->KnownBytes(a_)->bytes, kBytes);
  EXPECT_EQ(OpenBy(*epoch, a_, 0), OpenIs::kOfThisPass);
  epoch->NotePassed(a_, 0, kBytes / 2);
  EXPECT_EQ(OpenBy(*epoch, b_, kReader), OpenIs::kOfThisPass);
  Index();
  EXPECT_EQ(epoch->complete(), 0u);
  epoch->NotePassed(a_, kBytes / 2, kBytes);
  EXPECT_EQ(epoch->complete(), 1u);
  std::string source(kBytes, '\0');
  for (uint64_t at = 0; at < kBytes; ++at) source[at] = ByteAt(b_, at);
  EXPECT_TRUE(Whole(*epoch, b_) == source);
  epoch->Close(b_);
  // Who reads by the old descriptor has the file open.
  EXPECT_EQ(OpenBy(*epoch, a_, kReader), OpenIs::kUnclear);
  epoch->Close(a_);
  EXPECT_EQ(OpenBy(*epoch, a_, kReader), OpenIs::kTheNextPass);
}

TEST_F(RecordEpochTest, APassOfWhichNobodyKnowsTheBeginningDoesNotEnd) {
  Index();
  const auto epoch = Make(3, test_.pool, ReadBefore::kUnknown);
  for (int pass = 0; pass < 3; ++pass) {
    for (const EntryId file : {a_, b_}) {
      EXPECT_EQ(OpenBy(*epoch, file, kReader), OpenIs::kOfThisPass);
      EXPECT_EQ(Whole(*epoch, file)[1], ByteAt(file, 1));
      epoch->Close(file);
    }
  }
  EXPECT_EQ(epoch->complete(), 0u);
}

TEST_F(RecordEpochTest, RestingWhileReadsAreUnderWayLosesNone) {
  Index();
  const auto epoch = Make(3);
  const auto read = Ask(*epoch, a_, 0, 100000);
  epoch->ReleaseOrders();
  const auto more = Ask(*epoch, a_, 100000, 100000);
  test_.asked->ComeAll();
  EXPECT_TRUE(read->bytes == Expected(a_, 3).substr(0, 100000));
  EXPECT_TRUE(more->bytes == Expected(a_, 3).substr(100000, 100000));
}

// What is read after Rest is known to nobody else.
TEST_F(RecordEpochTest, WithAnEpochGoesWhatWasReadOfItAfterItRested) {
  Index();
  auto epoch = Make(3);
  epoch->ReleaseOrders();
  const auto read = Ask(*epoch, a_, 0, 1000);
  test_.asked->ComeAll();
  EXPECT_TRUE(read->bytes == Expected(a_, 3).substr(0, 1000));
  EXPECT_GT(testing_support::PoolBytes(test_), 0u) << "the rest of the part";
  epoch.reset();
  EXPECT_EQ(testing_support::PoolBytes(test_), 0u);
}

// A read that is under way holds the epoch, and the pool lets go of both.
TEST_F(RecordEpochTest, AnEpochMayGoWithTheLastOfItsReads) {
  Index();
  auto epoch = Make(3);
  const std::weak_ptr<RecordEpoch> gone = epoch;
  const auto whole = Ask(*epoch, a_, 0, 100000);
  const auto piece = Ask(*epoch, a_, 0, 1000);
  epoch.reset();
  EXPECT_FALSE(gone.expired());
  test_.asked->ComeAll();
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(whole->answers, 1);
  EXPECT_EQ(piece->answers, 1);
  EXPECT_EQ(testing_support::PoolBytes(test_), 0u);
}

// Readers, a source that answers on a thread of its own, two that plan, and
// epochs that rest and go at any time.
TEST_F(RecordEpochTest, EpochsMayGoOnAnyThread) {
  Index();
  Worker worker("test", 2);
  TestPool test(64 << 20, nullptr, &worker);
  std::atomic<bool> over{false};
  std::jthread source([&] {
    while (!over || test.asked->waiting() > 0) {
      if (!test.asked->Come()) std::this_thread::yield();
    }
  });
  constexpr int kReads = 300;
  std::atomic<int> answers{0};
  std::atomic<int> errors{0};
  std::vector<std::jthread> readers;
  for (uint64_t thread = 0; thread < 3; ++thread) {
    readers.emplace_back([&, thread] {
      Rng rng{RandomKey(thread)};
      std::shared_ptr<RecordEpoch> epoch;
      for (int i = 0; i < kReads; ++i) {
        if (i % 7 == 0) epoch = Make(thread, test.pool);
        if (i % 7 == 3) epoch->ReleaseOrders();
        epoch->Read(rng.Bounded(2) == 0 ? a_ : b_, rng.Bounded(kBytes), 1000,
                    [&](absl::StatusOr<absl::Span<const iovec>> got) {
                      if (!got.ok()) ++errors;
                      ++answers;
                    });
      }
    });
  }
  readers.clear();  // joins
  while (answers < 3 * kReads) std::this_thread::yield();
  worker.Stop();
  over = true;
  source.join();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(answers, 3 * kReads);
  EXPECT_EQ(testing_support::PoolBytes(test), 0u);
}

TEST_F(RecordEpochTest, WhatTurnsOutToBeNoContainerIsShownAsItIs) {
  Index();
  const auto epoch = Make(3);
  const std::string all = Whole(*epoch, c_, 6);
  ASSERT_EQ(all.size(), 6u);
  for (uint64_t at = 0; at < 6; ++at) EXPECT_EQ(all[at], ByteAt(c_, at));
}

TEST_F(RecordEpochTest, APassEndsWhenAllContainersWereRead) {
  Index();
  const auto epoch = Make(3);
  for (const EntryId file : {a_, b_}) {
    EXPECT_EQ(OpenBy(*epoch, file, kReader), OpenIs::kOfThisPass);
    Whole(*epoch, file);
    epoch->Close(file);
    EXPECT_EQ(OpenBy(*epoch, file, kReader),
              file == b_ ? OpenIs::kTheNextPass : OpenIs::kOfThisPass);
    epoch->Close(file);
  }
  EXPECT_EQ(epoch->complete(), 2u);
}

TEST_F(RecordEpochTest, ErrorsCountForNothing) {
  Index();
  const auto epoch = Make(3);
  EXPECT_EQ(OpenBy(*epoch, a_, kReader), OpenIs::kOfThisPass);
  for (uint64_t at = 0; at < kBytes; at += 1 << 20) {
    Ask(*epoch, a_, at, 1 << 20);
    test_.asked->ComeAll(absl::DataLossError("no such sector"));
  }
  EXPECT_EQ(epoch->complete(), 0u);
}

TEST_F(RecordEpochTest, WithoutAContainerThereIsNoPass) {
  TempTree tree;
  tree.File("c.tar", "no tar");
  catalogue_ = std::make_shared<const Catalogue>(tree.Scanned());
  containers_ = std::make_shared<ContainerSet>(
      *Dataset::Make(catalogue_, ViewConfig(), ""),
      *RecordRules::Parse(RecordOptions()));
  containers_->Index(tree.Source(), {});
  const EntryId file = *catalogue_->FindPath("c.tar");
  ASSERT_TRUE(containers_->Has(file));
  const auto epoch = Make(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(OpenBy(*epoch, file, kReader), OpenIs::kOfThisPass);
    epoch->Close(file);
  }
}

// A thread of the daemon takes the last step of reading ahead before a large
// one that comes before it. No place is kept.
TEST_F(RecordEpochTest, TheLastStepOfAFileIsNoJump) {
  Index();
  const auto epoch = Make(0);
  EXPECT_EQ(OpenBy(*epoch, a_, kReader), OpenIs::kOfThisPass);
  for (const uint64_t begin : {2'900'000, 1'000'000, 0}) {
    const auto read = Ask(*epoch, a_, begin, kBytes - begin);
    test_.asked->ComeAll();
    EXPECT_EQ(read->answers, 1);
  }
  EXPECT_EQ(containers_->by_hand(), 0u);
  // Who begins a pass with it may have kept its place in the pass before.
  const auto next = Make(1);
  next->Follow(epoch);
  EXPECT_EQ(OpenBy(*next, a_, kReader), OpenIs::kOfThisPass);
  const auto last = Ask(*next, a_, 2'900'000, 100'000);
  test_.asked->ComeAll();
  EXPECT_EQ(last->bytes, Expected(a_, 0).substr(2'900'000));
  EXPECT_EQ(containers_->by_hand(), ContainerSet::kPositionsKept);
}

TEST_F(RecordEpochTest, APieceOfTheMiddleIsAJump) {
  Index();
  const auto epoch = Make(0);
  EXPECT_EQ(OpenBy(*epoch, b_, kReader), OpenIs::kOfThisPass);
  const auto read = Ask(*epoch, b_, 2'000'000, 50'000);
  test_.asked->ComeAll();
  EXPECT_EQ(read->answers, 1);
  EXPECT_EQ(containers_->by_hand(), ContainerSet::kPositionsKept);
}

// A program made a list of positions in one pass, and seeks in the next.
TEST_F(RecordEpochTest, WhoKeepsPositionsGetsTheOrderOfThePassBefore) {
  Index();
  const auto before = Make(3);
  const auto epoch = Make(4);
  epoch->Follow(before);
  EXPECT_EQ(OpenBy(*epoch, a_, kReader), OpenIs::kOfThisPass);
  EXPECT_FALSE(epoch->BegunByMistake());
  const std::string whole = Expected(a_, 3);
  const auto got = Ask(*epoch, a_, 2000000, 4096);
  test_.asked->ComeAll();
  EXPECT_EQ(got->bytes, whole.substr(2000000, 4096));
  EXPECT_TRUE(epoch->BegunByMistake());
  EXPECT_EQ(containers_->by_hand(), ContainerSet::kPositionsKept);
  // No pass ends any more.
  Whole(*before, a_);
  Whole(*before, b_);
  EXPECT_EQ(OpenBy(*before, a_, kReader), OpenIs::kOfThisPass);
}

TEST_F(RecordEpochTest, WhoReadsFromTheStartGetsTheNewOrder) {
  Index();
  const auto epoch = Make(4);
  epoch->Follow(Make(3));
  EXPECT_EQ(OpenBy(*epoch, a_, kReader), OpenIs::kOfThisPass);
  EXPECT_TRUE(Whole(*epoch, a_) == Expected(a_, 4));
  EXPECT_FALSE(epoch->BegunByMistake());
}

TEST_F(RecordEpochTest, ManyShortOpensOfANewPassAreAMistake) {
  Index();
  const auto epoch = Make(4);
  epoch->Follow(Make(3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(epoch->BegunByMistake());
    EXPECT_EQ(OpenBy(*epoch, a_, kReader), OpenIs::kOfThisPass);
    Ask(*epoch, a_, 0, 4096);
    test_.asked->ComeAll();
    epoch->Close(a_);
  }
  EXPECT_TRUE(epoch->BegunByMistake());
}

}  // namespace
}  // namespace shufflefs
