// SPDX-License-Identifier: Apache-2.0
// What a ledger keeps of containers: which were read to the end, and why passes
// over them end by hand only.
#include "core/ledger/ledger_containers.h"

#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "core/ledger/ledger_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/ledger/ledger_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::FullDisk;
using testing_support::SomeEpoch;

LedgerContainers ByHand(uint64_t binding, uint32_t why) {
  LedgerContainers containers;
  containers.binding = Epoch(binding);
  containers.by_hand = why;
  return containers;
}

LedgerContainers Anew(uint64_t binding, std::vector<uint64_t> files) {
  LedgerContainers containers;
  containers.binding = Epoch(binding);
  containers.files = std::move(files);
  containers.anew = true;
  return containers;
}

class LedgerContainersTest : public testing_support::LedgerTest {
 protected:
  // As a kill would leave it.
  LedgerState Last() const {
    std::filesystem::copy_file(
        path(), tree_.At("copy"),
        std::filesystem::copy_options::overwrite_existing);
    auto ledger = Ledger::Open(tree_.At("copy"), {});
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    EXPECT_TRUE((*ledger)->cut().ok()) << (*ledger)->cut();
    return *(*ledger)->TakeLastState("train");
  }
  uint32_t LastByHand() const { return Last().begin.by_hand; }
};

TEST_F(LedgerContainersTest, ARecordComesBackAsItWas) {
  for (const uint32_t by_hand : {0u, 1u, 0xffffffffu}) {
    for (const bool anew : {false, true}) {
      for (const std::vector<uint64_t>& files :
           {std::vector<uint64_t>{}, std::vector<uint64_t>{0, 0xffffffff}}) {
        const LedgerContainers written{Epoch(7), files, by_hand, anew};
        const auto words = ledger_format::EncodeContainers(3, written, 99);
        ASSERT_TRUE(words.ok()) << words.status();
        const auto read = ledger_format::DecodeContainers(*words);
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(read->binding, Epoch(7));
        EXPECT_EQ(read->files, files);
        EXPECT_EQ(read->by_hand, by_hand);
        EXPECT_EQ(read->anew, anew);
      }
    }
  }
}

// All bits, also those of which this version does not know what they mean.
TEST_F(LedgerContainersTest, WhyPassesEndByHandIsKeptWhateverFollows) {
  constexpr uint32_t kBegun = 0x80000001;
  constexpr uint32_t kAll = kBegun | 0x10;
  const auto ledger = Open();
  LedgerEpoch epoch = SomeEpoch(1);
  epoch.by_hand = kBegun;
  ASSERT_TRUE(ledger->BeginEpoch(epoch).ok());
  EXPECT_EQ(LastByHand(), kBegun);
  // A reader of the epoch before says so, too.
  ASSERT_TRUE(ledger->ReadWhole(1, ByHand(0, 0x10)).ok());
  EXPECT_EQ(LastByHand(), kAll);
  ASSERT_TRUE(ledger->Compact().ok());
  EXPECT_EQ(LastByHand(), kAll);
  ASSERT_TRUE(ledger->Hold({1, Epoch(2), 'c', "partial"}).ok());
  EXPECT_EQ(LastByHand(), kAll);
  ASSERT_TRUE(ledger->Compact().ok());
  EXPECT_EQ(LastByHand(), kAll);
  LedgerState state = Last();
  state.begin.view = 2;  // another number than before
  ASSERT_TRUE(ledger->Continue(state).ok());
  EXPECT_EQ(LastByHand(), kAll);
  ASSERT_TRUE(ledger->Adopt(LedgerPass::Apart(state)).ok());
  EXPECT_EQ(LastByHand(), kAll);
  // The next epoch says it for itself.
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(3)).ok());
  EXPECT_EQ(LastByHand(), 0u);
}

TEST_F(LedgerContainersTest, WhatAJobGoesOnFromReplacesWhatWasReadWhole) {
  const auto ledger = Open();
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(1)).ok());
  ASSERT_TRUE(ledger->ReadWhole(1, {Epoch(1), {3, 9}}).ok());
  ASSERT_TRUE(ledger->ReadWhole(1, Anew(1, {9, 4})).ok());
  ASSERT_TRUE(ledger->ReadWhole(1, Anew(0, {8})).ok());  // of another epoch
  ASSERT_TRUE(ledger->ReadWhole(1, {Epoch(1), {5}}).ok());
  EXPECT_THAT(Last().containers, ElementsAre(4, 5, 9));
  ASSERT_TRUE(ledger->Compact().ok());
  EXPECT_THAT(Last().containers, ElementsAre(4, 5, 9));
  ASSERT_TRUE(ledger->ReadWhole(1, Anew(1, {})).ok());
  EXPECT_THAT(Last().containers, IsEmpty());
}

TEST_F(LedgerContainersTest, BothAreRecordedOnceADiskHasSpace) {
  const auto ledger = Open();
  LedgerWriter writer(1, ledger.get(),
                      {.retry_after = std::chrono::milliseconds(0)});
  writer.BeginEpoch(SomeEpoch(1), {});
  const uint64_t readers = writer.AnnounceReaders();
  writer.ReadWhole(readers, {Epoch(1), {3}});
  writer.AnnounceReaders();  // the earlier ones read on
  {
    const FullDisk full(ledger->bytes());
    writer.NoteContainers(ByHand(1, 1));
    writer.NoteContainers(Anew(1, {}));
    EXPECT_NE(writer.Warning(), "");
  }
  EXPECT_THAT(Last().containers, ElementsAre(3));
  EXPECT_EQ(LastByHand(), 0u);
  writer.NoteContainers(ByHand(1, 2));
  EXPECT_EQ(writer.Warning(), "");
  EXPECT_THAT(Last().containers, IsEmpty());
  EXPECT_EQ(LastByHand(), 3u);
  writer.Close();
}

// A ledger of before it said why passes end by hand only.
TEST_F(LedgerContainersTest, ALedgerOfTheFourthVersionIsTakenOver) {
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(8)).ok());
    ASSERT_TRUE(ledger->ReadWhole(1, {Epoch(8), {5}}).ok());
  }
  std::string bytes = Bytes();
  const std::string now = bytes;
  bytes[8] = 4;
  const uint64_t hash = XXH3_64bits(bytes.data(), 56);
  std::memcpy(&bytes[56], &hash, sizeof hash);
  WriteBytes(bytes);
  {
    const auto ledger = Open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_TRUE(ledger->cut().ok());
    const auto state = ledger->TakeLastState("train");
    ASSERT_TRUE(state);
    EXPECT_THAT(state->containers, ElementsAre(5));
    EXPECT_EQ(state->begin.by_hand, 0u);
  }
  // So that an older program leaves it alone.
  EXPECT_EQ(Bytes().substr(0, 64), now.substr(0, 64));
}

}  // namespace
}  // namespace shufflefs
