// SPDX-License-Identifier: Apache-2.0
// Ledgers that were cut off, damaged, of another kind, or on a full disk.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/files/append_log.h"
#include "core/base/status.h"
#include "core/ledger/ledger_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/ledger/ledger_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::FullDisk;
using testing_support::SomeEpoch;
using testing_support::Transcript;
using LedgerDamageTest = testing_support::LedgerTest;

// Cut at every byte: what is left is a prefix, nothing is invented.
TEST_F(LedgerDamageTest, TruncatedAnywhereKeepsThePrefix) {
  WriteSome();
  const std::vector<std::string> all = Read();
  for (size_t size = Bytes().size(); size-- > 0;) {
    SCOPED_TRACE(size);
    ASSERT_EQ(::truncate(path().c_str(), static_cast<off_t>(size)), 0);
    absl::Status status;
    const std::vector<std::string> lines = Read(&status);
    ASSERT_LE(lines.size(), all.size());
    EXPECT_EQ(lines, std::vector<std::string>(
                         all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                        lines.size())));
    if (!status.ok()) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
    }
  }
}

// A kill in the middle of a write leaves a part of a word. It is no damage.
TEST_F(LedgerDamageTest, ATornLastWordIsIgnored) {
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(3)).ok());
    for (const uint64_t sample : {5, 6}) {
      ASSERT_TRUE(ledger->Consumed(1, sample).ok());
    }
  }
  const std::string whole =
      Bytes().substr(0, Bytes().find_last_not_of('\0') + 1);
  ASSERT_EQ(whole.size() % 8, 0u);
  const std::vector<std::string> all = Read();
  for (size_t torn = 1; torn < 8; ++torn) {
    SCOPED_TRACE(torn);
    WriteBytes(whole.substr(0, whole.size() - torn));
    EXPECT_EQ(Read(), std::vector<std::string>(all.begin(), all.end() - 1));
  }
}

TEST(LedgerFormatTest, AConsumptionIsOfItsPlace) {
  const uint64_t word = ledger_format::ConsumedWord(1, 77, 1000);
  EXPECT_TRUE(ledger_format::ParseConsumed(word, 1000).ok());
  EXPECT_FALSE(ledger_format::ParseConsumed(word, 1001).ok());
  EXPECT_FALSE(ledger_format::ParseConsumed(word, 1000 + 512).ok());
}

TEST(LedgerFormatTest, ARecordIsOfItsPlace) {
  const auto record = ledger_format::EncodeConsumedSet(1, {{{0, 1}}}, 100);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(ledger_format::CheckRecord(*record, 100).ok());
  EXPECT_FALSE(ledger_format::CheckRecord(*record, 99).ok());
  EXPECT_FALSE(ledger_format::CheckRecord(*record, 101).ok());
}

TEST(LedgerFormatTest, ARecordIsOfAViewThatCanBe) {
  for (const int view : {0, kMaxLedgerViews - 1, int{kMaxLedgerViews}}) {
    const auto record = ledger_format::EncodeConsumedSet(
        static_cast<uint8_t>(view), {{{0, 1}}}, 100);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(ledger_format::CheckRecord(*record, 100).ok(),
              view < kMaxLedgerViews)
        << view;
  }
}

// Of a set of 64 samples a part may lie beyond the view's end.
TEST_F(LedgerDamageTest, ASetWithASampleBeyondTheViewIsDamaged) {
  const uint64_t names = 70;
  LedgerEpoch epoch = SomeEpoch(3, names);
  epoch.retained.clear();
  for (uint64_t sample = 64; sample < 76; ++sample) {
    SCOPED_TRACE(sample);
    ledger_format::Words words = ledger_format::Header();
    for (const auto& record :
         {ledger_format::Encode(epoch, words.size()),
          ledger_format::EncodeConsumedSet(
              1, {{{1, uint64_t{1} << (sample - 64)}}},
              words.size() +
                  ledger_format::Encode(epoch, words.size())->size())}) {
      ASSERT_TRUE(record.ok()) << record.status();
      words.insert(words.end(), record->begin(), record->end());
    }
    WriteBytes({reinterpret_cast<const char*>(words.data()),
                words.size() * sizeof words[0]});
    absl::Status status;
    EXPECT_EQ(Read(&status).size(), sample < names ? 2u : 1u);
    EXPECT_EQ(status.ok(), sample < names) << status;
  }
}

TEST_F(LedgerDamageTest, CutToItsPrefixItCanBeWrittenAgain) {
  WriteSome();
  const std::string whole = Bytes();
  // Below eight bytes it is not yet known for a ledger.
  for (size_t size = 8; size < whole.size(); size += 29) {
    SCOPED_TRACE(size);
    WriteBytes(whole.substr(0, size));
    absl::Status status;
    const size_t lines = Read(&status).size();
    const auto ledger = Open();
    ASSERT_NE(ledger, nullptr);
    ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(9)).ok());
    EXPECT_EQ(Read().size(), lines + 1);
  }
}

TEST_F(LedgerDamageTest, EveryFlippedBitIsFound) {
  WriteSome();
  const std::string whole = Bytes();
  const std::vector<std::string> all = Read();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    const char byte = whole[bit / 8];
    PutByte(bit / 8, static_cast<char>(byte ^ (1 << bit % 8)));
    absl::Status status;
    const std::vector<std::string> lines = Read(&status);
    ASSERT_FALSE(status.ok()) << "bit " << bit;
    ASSERT_THAT(std::string(status.message()), HasSubstr(path()));
    ASSERT_LT(lines.size(), all.size()) << "bit " << bit;
    ASSERT_EQ(lines, std::vector<std::string>(
                         all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                        lines.size())))
        << "bit " << bit;
    PutByte(bit / 8, byte);
  }
  EXPECT_EQ(Bytes(), whole);
}

TEST_F(LedgerDamageTest, DamageIsReportedWithItsOffsetAndCutOff) {
  WriteSome();
  std::string bytes = Bytes();
  bytes[bytes.size() - 5] ^= 1;  // in the last consumption
  WriteBytes(bytes);
  const auto ledger = Open();
  ASSERT_NE(ledger, nullptr);
  EXPECT_EQ(ledger->cut().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ledger->cut().message(),
            absl::StrCat(path(), ": offset ", bytes.size() - 8,
                         ": a consumption is damaged"));
  EXPECT_EQ(ledger->bytes(), bytes.size() - 8);
  EXPECT_EQ(Read().size(), 15);
}

// The machine went down before the page with a word was written.
TEST_F(LedgerDamageTest, WhatStandsBehindAGapIsNotBelieved) {
  WriteSome();
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->Consumed(1, 20).ok());
    ASSERT_TRUE(ledger->Consumed(1, 21).ok());
  }
  const size_t gap = Bytes().size() - 16;
  for (size_t i = gap; i < gap + 8; ++i) PutByte(i, 0);
  absl::Status status;
  EXPECT_EQ(Read(&status).size(), 16);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(absl::StrCat("offset ", gap, ": nothing was written here")));
  EXPECT_EQ(Open()->bytes(), gap);
}

// A daemon that appends a large pass stores its first word last.
TEST_F(LedgerDamageTest, WhoeverIsWritingIsWaitedFor) {
  WriteSome();
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->Consumed(1, 20).ok());
    ASSERT_TRUE(ledger->Consumed(1, 21).ok());
  }
  const std::vector<std::string> all = Read();
  const std::string bytes = Bytes();
  const size_t gap = bytes.size() - 16;
  for (size_t i = gap; i < gap + 8; ++i) PutByte(i, 0);
  std::thread writer([&] {
    for (int times = 0; times < 10; ++times) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      PutByte(bytes.size() - 1, bytes.back());  // as it is
    }
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(gap));
    file.write(&bytes[gap], 8);
  });
  EXPECT_EQ(Read(), all);
  writer.join();
}

TEST_F(LedgerDamageTest, ZerosBehindTheEndAreSpaceNotYetUsed) {
  WriteSome();
  const std::string bytes = Bytes();
  WriteBytes(bytes + std::string(1 << 20, '\0'));
  EXPECT_EQ(Read().size(), 16);
  EXPECT_EQ(Open()->bytes(), bytes.size());
}

TEST_F(LedgerDamageTest, AnotherFileIsLeftAlone) {
  WriteBytes("precious data of somebody else, not a ledger at all");
  const auto ledger = Ledger::Open(path(), {});
  EXPECT_EQ(ledger.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ledger.status().message(),
            absl::StrCat(path(),
                         ": not a ledger; name another state with "
                         "-o state=DIR"));
  EXPECT_THAT(Bytes(), HasSubstr("precious"));
}

TEST_F(LedgerDamageTest, AnotherVersionIsLeftAlone) {
  WriteSome();
  std::string bytes = Bytes();
  bytes[8] = 6;
  WriteBytes(bytes);
  const auto ledger = Ledger::Open(path(), {});
  EXPECT_EQ(ledger.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ledger.status().message()),
              HasSubstr("ledger version 6, this program reads up to 5"));
  EXPECT_EQ(Bytes(), bytes);
}

TEST_F(LedgerDamageTest, AMissingFileIsSaidToBeMissing) {
  Transcript transcript;
  const absl::Status status = ReplayLedger(tree_.At("none"), transcript);
  EXPECT_EQ(ErrnoOf(status), ENOENT);
  EXPECT_THAT(std::string(status.message()), HasSubstr(tree_.At("none")));
}

TEST_F(LedgerDamageTest, SamplesBeyondTheViewAreRefused) {
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(0, 10)).ok());
    ASSERT_TRUE(ledger->Consumed(1, 10).ok());
  }
  absl::Status status;
  EXPECT_EQ(Read(&status).size(), 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("sample 10 of view 1 which has 10 samples"));
  // And those of a view that never began.
  EXPECT_FALSE(Open()->Consumed(2, 0).ok());
  {
    const uint64_t words = Bytes().size() / 8;
    auto file = AppendLog::Open(path(), words);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append(ledger_format::ConsumedWord(2, 0, words)).ok());
  }
  Read(&status);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST_F(LedgerDamageTest, RefusesAViewNumberItCannotHold) {
  const auto ledger = Open();
  LedgerEpoch epoch = SomeEpoch(0);
  epoch.view = kMaxLedgerViews;
  EXPECT_EQ(ledger->BeginEpoch(epoch).code(),
            absl::StatusCode::kInvalidArgument);
  epoch.view = 0;
  epoch.names = kMaxLedgerNames + 1;
  EXPECT_EQ(ledger->BeginEpoch(epoch).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LedgerDamageTest, AFullDiskFailsTheAppendAndKeepsTheRest) {
  const auto ledger = Open();
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(0, 1000000)).ok());
  absl::optional<FullDisk> full(80000);
  absl::Status status;
  uint64_t written = 0;
  while (status.ok() && written < 100000) {
    status = ledger->Consumed(1, written);
    if (status.ok()) ++written;
  }
  full.reset();
  EXPECT_EQ(ErrnoOf(status), EFBIG);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
  EXPECT_EQ(Read().size(), written + 1);
  // There is space again.
  EXPECT_TRUE(ledger->Consumed(1, written).ok());
}

// Not even the first word that the disk does not take ends the process.
TEST_F(LedgerDamageTest, ADiskThatFailsGivesAnErrno) {
  const auto ledger = Open();
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(0)).ok());
  ASSERT_TRUE(ledger->Consumed(1, 5).ok());
  {
    const FullDisk full(ledger->bytes() + 4);
    EXPECT_EQ(ErrnoOf(ledger->Consumed(1, 6)), EFBIG);
    EXPECT_EQ(ErrnoOf(ledger->ConsumedUnder(1, 6, 7)), EFBIG);
    EXPECT_EQ(ErrnoOf(ledger->BeginEpoch(SomeEpoch(1))), EFBIG);
  }
  ASSERT_TRUE(ledger->Consumed(1, 8).ok());
  EXPECT_THAT(Read(), ::testing::ElementsAre(HasSubstr("epoch"), "consumed 1 5",
                                             "consumed 1 8"));
}

TEST_F(LedgerDamageTest, AFileThatSomebodyEmptiedEndsNoDaemon) {
  const auto ledger = Open();
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(0)).ok());
  ASSERT_EQ(::truncate(path().c_str(), 0), 0);
  ledger->Consumed(1, 5).IgnoreError();
  const absl::Status status = ledger->Switch({1, Epoch(0), "seed 0 to 6"});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
  EXPECT_EQ(ledger->CheckBeginning(1), status);
  EXPECT_EQ(ledger->BeginEpoch(SomeEpoch(1)), absl::OkStatus());
  EXPECT_EQ(ledger->CheckBeginning(1), absl::OkStatus());
}

// After a kill on a full disk the same command mounts again.
TEST_F(LedgerDamageTest, ALedgerOpensOnAFullDisk) {
  WriteSome();
  const size_t bytes = Bytes().size();
  {
    const FullDisk full(bytes);
    const auto ledger = Open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_EQ(ledger->TakeLastState("train")->begin.epoch, Epoch(5));
    EXPECT_EQ(ErrnoOf(ledger->Consumed(1, 20)), EFBIG);
  }
  EXPECT_EQ(Bytes().size(), bytes);
}

// What a compaction leaves behind takes space that the ledger needs itself.
TEST_F(LedgerDamageTest, ACompactionThatFailsOrIsKilledLeavesNoFile) {
  WriteSome();
  const std::string beside = path() + ".new";
  {
    const auto ledger = Open();
    const FullDisk full(100);
    EXPECT_EQ(ErrnoOf(ledger->Compact()), EFBIG);
    EXPECT_FALSE(std::filesystem::exists(beside));
  }
  std::ofstream(beside) << "half of a ledger";
  Open();
  EXPECT_FALSE(std::filesystem::exists(beside));
  EXPECT_EQ(Read().size(), 16);
}

// Of a pass without its consumed samples a reader would get them again.
TEST_F(LedgerDamageTest, AFullDiskTakesAWholePassOrNothingOfIt) {
  auto ledger = Open();
  LedgerState state;
  state.begin = SomeEpoch(3, 64 * 100000);
  for (uint64_t i = 0; i < 100000; ++i) state.consumed.Add(64 * i);
  state.consumed.Settle();
  {
    const FullDisk full(80000);
    EXPECT_EQ(ErrnoOf(ledger->Adopt(LedgerPass::Apart(state))), EFBIG);
    EXPECT_EQ(ErrnoOf(ledger->Continue(state)), EFBIG);
  }
  EXPECT_TRUE(Read().empty());
  EXPECT_TRUE(ledger->Adopt(LedgerPass::Apart(state)).ok());
  ledger = Open();
  const auto last = ledger->TakeLastState("train");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->consumed.size(), 100000);
}

}  // namespace
}  // namespace shufflefs
