// SPDX-License-Identifier: Apache-2.0
// ReadAhead prefetches along known orders, from a source that the test drives.
// The tests check what it fetches and when, what readers get, and how much
// memory it takes.
#include "core/pool/read_ahead.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ByteAt;
using testing_support::HeldSource;
using testing_support::TempTree;

constexpr uint64_t kMemory = 8 << 20;
constexpr uint64_t kFileBytes = 30000;

class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    for (int c = 0; c < 4; ++c) {
      for (int f = 0; f < 300; ++f) {
        const int name = (f * 7919 + c * 13) % 100003;
        tree_.File(
            "c" + std::to_string(c) + "/" + std::to_string(name) + ".jpg",
            std::string(kFileBytes + f, 'x'));
      }
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    ViewConfig config;
    config.substitute = Substitute::kDirectory;
    dataset_ = *Dataset::Make(catalogue_, config, "");
    policy_ = *MakePolicy("lirs", {});
  }
  void TearDown() override {
    for (int i = 0; i < 100000; ++i) {
      if (!source_->Come(absl::CancelledError("over"))) break;
    }
  }

  void Make(std::vector<uint64_t> addresses = {}, bool shared = false) {
    ReadAhead::Parts parts;
    parts.dataset = dataset_;
    memory_ = shared ? testing_support::SharedMemory(ReadAhead::kLeastMemory)
                     : testing_support::TestMemory(PoolBytes(kMemory));
    parts.memory = memory_;
    parts.addresses = std::move(addresses);
    auto source = std::make_unique<HeldSource>();
    source_ = source.get();
    parts.source = std::move(source);
    parts.leaves_out = leaves_out_;
    ahead_ = *ReadAhead::Make(std::move(parts));
    Begin(Epoch(0));
  }
  void Begin(Epoch epoch) {
    binding_ = std::make_shared<const Binding>(
        std::make_shared<const Plan>(dataset_, policy_, Seed(1), epoch),
        RetainedBindings(), false);
    ranks_ = RankSequence(binding_);
    ReadAhead::Sequences sequences;
    sequences.push_back(RankSequence(binding_));
    ahead_->FollowLive(std::move(sequences));
  }

  EntryId FileAt(uint64_t rank) const {
    return dataset_->grouping().first_member(ranks_->At(rank));
  }
  uint64_t SizeOf(EntryId file) const {
    return catalogue_->attributes(file).size;
  }
  // Reads a file in pieces, as the kernel does. What it had to wait for, or
  // that the source was to answer.
  enum class Got { kAtOnce, kLater, kNothing };
  Got ReadWhole(EntryId file, const absl::Status& comes = absl::OkStatus()) {
    Got result = Got::kAtOnce;
    for (uint64_t at = 0; at < SizeOf(file); at += 16384) {
      if (!ahead_->CanServe(file)) return Got::kNothing;
      bool there = false;
      ahead_->Read(file, at, 16384, [&](auto bytes) {
        there = true;
        last_ = bytes.status();
        if (bytes.ok()) Check(file, at, *bytes);
      });
      if (there) continue;
      result = Got::kLater;
      while (!there && source_->Come(comes)) {
      }
      EXPECT_TRUE(there);
      if (!last_.ok()) return result;
    }
    return result;
  }
  void Check(EntryId file, uint64_t at, absl::Span<const iovec> bytes) {
    uint64_t i = at;
    for (const iovec& run : bytes) {
      for (size_t k = 0; k < run.iov_len; ++k, ++i) {
        ASSERT_EQ(static_cast<char*>(run.iov_base)[k], ByteAt(file, i));
      }
    }
    EXPECT_EQ(i, std::min<uint64_t>(at + 16384, SizeOf(file)));
  }

  TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const Policy> policy_;
  std::shared_ptr<const Binding> binding_;
  std::unique_ptr<Sequence> ranks_;
  HeldSource* source_ = nullptr;
  PoolMemory memory_;
  std::function<bool(EntryId)> leaves_out_;
  std::shared_ptr<ReadAhead> ahead_;
  absl::Status last_;
};

TEST_F(ReadAheadTest, AReaderInRankOrderNeverWaitsOnceItIsKnown) {
  Make();
  for (uint64_t rank = 0; rank < 1200; ++rank) {
    const Got got = ReadWhole(FileAt(rank));
    EXPECT_EQ(got, rank < 4 ? Got::kNothing : Got::kAtOnce) << rank;
    source_->ComeAll();  // the device is faster than the reader
    EXPECT_LE(ahead_->status().pool_bytes, kMemory);
  }
  EXPECT_EQ(ahead_->status().hits, 1196u);
  EXPECT_EQ(ahead_->status().source_reads, 1196u) << "fetched twice";
  EXPECT_EQ(ahead_->status().pool_bytes, 0u);
}

TEST_F(ReadAheadTest, AReaderThatIsFasterThanTheDeviceGetsWhatIsOnItsWay) {
  Make();
  for (uint64_t rank = 0; rank < 400; ++rank) {
    EXPECT_EQ(ReadWhole(FileAt(rank)), rank < 4 ? Got::kNothing : Got::kLater)
        << rank;
  }
}

TEST_F(ReadAheadTest, ReadersAtRandomAreLeftToTheSource) {
  Make();
  std::mt19937 random(5);
  std::vector<uint64_t> order(1200);
  for (uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  for (uint64_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random() % i]);
  }
  uint64_t answered = 0;
  for (const uint64_t rank : order) {
    answered += ReadWhole(FileAt(rank)) == Got::kNothing ? 0 : 1;
    source_->ComeAll();
  }
  EXPECT_LE(answered, 60u);
  EXPECT_LE(ahead_->status().source_reads, 240u);
}

TEST_F(ReadAheadTest, WhatOneReaderLeavesUnreadMakesRoomForAnother) {
  Make();
  for (uint64_t rank = 0; rank < 100; ++rank) {
    ReadWhole(FileAt(rank));
    source_->ComeAll();
  }
  const uint64_t before = ahead_->status().hits;
  for (uint64_t rank = 600; rank < 1200; ++rank) {
    ReadWhole(FileAt(rank));
    source_->ComeAll();
    EXPECT_LE(ahead_->status().pool_bytes, kMemory);
  }
  EXPECT_GE(ahead_->status().hits - before, 550u);
}

TEST_F(ReadAheadTest, WhoWaitsForWhatCannotBeReadIsTold) {
  Make();
  for (uint64_t rank = 0; rank < 5; ++rank) ReadWhole(FileAt(rank));
  const EntryId broken = FileAt(5);
  EXPECT_EQ(ReadWhole(broken, ErrnoStatus(EIO, "c0/x.jpg")), Got::kLater);
  EXPECT_EQ(last_, ErrnoStatus(EIO, "c0/x.jpg"));
  // Nobody waits: the source will say it.
  while (source_->Come(ErrnoStatus(EIO, "c0/y.jpg"))) {
  }
  EXPECT_EQ(ahead_->status().pool_bytes, 0u);
  EXPECT_EQ(ReadWhole(FileAt(6)), Got::kNothing);
}

TEST_F(ReadAheadTest, ANewEpochGivesUpWhatWasFetchedForTheOldOne) {
  Make();
  for (uint64_t rank = 0; rank < 200; ++rank) {
    ReadWhole(FileAt(rank));
    source_->ComeAll();
  }
  EXPECT_GT(ahead_->status().pool_bytes, 0u);
  Begin(Epoch(1));
  const uint64_t before = ahead_->status().hits;
  for (uint64_t rank = 0; rank < 1200; ++rank) {
    ReadWhole(FileAt(rank));
    source_->ComeAll();
    EXPECT_LE(ahead_->status().pool_bytes, kMemory);
  }
  EXPECT_GE(ahead_->status().hits - before, 1180u);
}

// Read class by class in the order of the names, which within a class is a
// random order of its listing.
TEST_F(ReadAheadTest, OfTwoOrdersTheReadersIsFollowed) {
  Make();
  ReadAhead::Sequences sequences;
  sequences.push_back(ListingSequence(binding_));
  sequences.push_back(NameSequence(binding_));
  ahead_->FollowLive(std::move(sequences));
  const auto names = NameSequence(binding_);
  for (uint64_t name = 0; name < 1200; ++name) {
    ReadWhole(dataset_->grouping().first_member(names->At(name)));
    source_->ComeAll();
  }
  EXPECT_GE(ahead_->status().hits, 1190u);
  EXPECT_LE(ahead_->status().source_reads, 1220u);
}

TEST_F(ReadAheadTest, AnEpochByPathIsFollowedBesideTheLiveOne) {
  Make();
  const auto fixed = std::make_shared<const Binding>(
      std::make_shared<const Plan>(dataset_, policy_, Seed(1), Epoch(9)),
      RetainedBindings(), false);
  ahead_->FollowFixed(fixed, /*ranks=*/false);
  ahead_->FollowFixed(fixed, /*ranks=*/true);
  const auto ranks = RankSequence(fixed);
  uint64_t answered = 0;
  for (uint64_t rank = 0; rank < 600; ++rank) {
    answered += ReadWhole(FileAt(rank)) == Got::kAtOnce ? 1 : 0;
    const EntryId file = dataset_->grouping().first_member(ranks->At(rank));
    answered += ReadWhole(file) == Got::kAtOnce ? 1 : 0;
    source_->ComeAll();
  }
  EXPECT_GE(answered, 1100u);
}

TEST_F(ReadAheadTest, ADeviceThatSeeksIsReadFromEndToEnd) {
  std::vector<uint64_t> addresses(1200);
  for (uint64_t s = 0; s < addresses.size(); ++s) {
    addresses[s] = (s * 7919) % 1200 * 100000;
  }
  Make(addresses);
  for (uint64_t rank = 0; rank < 100; ++rank) {
    ReadWhole(FileAt(rank));
    const std::vector<EntryId> asked = source_->asked();
    uint64_t back = 0;
    for (size_t i = 1; i < asked.size(); ++i) {
      const auto at = [&](size_t k) {
        return addresses[dataset_->grouping().sample(asked[k]).value()];
      };
      back += at(i) < at(i - 1) ? 1 : 0;
    }
    // Batches follow each other; each is sorted.
    EXPECT_LE(back, 2u);
    source_->ComeAll();
  }
}

TEST_F(ReadAheadTest, WhatWasReadInPartGoesWhenItIsClosed) {
  Make();
  for (uint64_t rank = 0; rank < 8; ++rank) ReadWhole(FileAt(rank));
  source_->ComeAll();
  const EntryId file = FileAt(8);
  ASSERT_TRUE(ahead_->CanServe(file));
  ahead_->Read(file, 0, 4096, [](auto bytes) { EXPECT_TRUE(bytes.ok()); });
  EXPECT_TRUE(ahead_->IsResident(file));
  ahead_->Close(file);
  EXPECT_FALSE(ahead_->IsResident(file));
  // Who was told that it is here, and comes late, gets it all the same.
  bool there = false;
  ahead_->Read(file, 4096, 4096, [&](auto bytes) { there = bytes.ok(); });
  source_->ComeAll();
  EXPECT_TRUE(there);
}

TEST_F(ReadAheadTest, ReadersOfSeveralThreadsGetTheirBytes) {
  Make();
  std::atomic<bool> over{false};
  std::thread device([&] {
    while (!over) {
      if (!source_->Come()) std::this_thread::yield();
    }
  });
  std::vector<std::thread> readers;
  std::atomic<uint64_t> wrong{0};
  for (int r = 0; r < 4; ++r) {
    readers.emplace_back([&, r] {
      for (uint64_t rank = r; rank < 1200; rank += 4) {
        const EntryId file = FileAt(rank);
        if (!ahead_->CanServe(file)) {  // the source takes its time
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          continue;
        }
        std::atomic<bool> there{false};
        ahead_->Read(file, 0, SizeOf(file), [&](auto bytes) {
          uint64_t at = 0;
          for (const iovec& run : *bytes) {
            for (size_t k = 0; k < run.iov_len; ++k, ++at) {
              wrong += static_cast<char*>(run.iov_base)[k] != ByteAt(file, at);
            }
          }
          wrong += at != SizeOf(file);
          there = true;
        });
        while (!there) std::this_thread::yield();
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  over = true;
  device.join();
  EXPECT_EQ(wrong, 0u);
  // How many were there in time is up to the machine.
  EXPECT_GT(ahead_->status().hits, 0u);
}

// Also if there are more of them in a row than are read ahead, and if most are.
TEST_F(ReadAheadTest, ReadersGoPastWhatIsLeftOut) {
  const DirId whole = *catalogue_->FindDir("c1");
  leaves_out_ = [this, whole](EntryId file) {
    return catalogue_->parent(file) == whole || file.value() % 4 != 0;
  };
  Make();
  ReadAhead::Sequences sequences;
  sequences.push_back(NameSequence(binding_));
  ahead_->FollowLive(std::move(sequences));
  const auto names = NameSequence(binding_);
  uint64_t read = 0;
  for (uint64_t name = 0; name < 1200; ++name) {
    const EntryId file = dataset_->grouping().first_member(names->At(name));
    if (leaves_out_(file)) continue;
    EXPECT_EQ(ReadWhole(file), read < 4 ? Got::kNothing : Got::kAtOnce) << name;
    ++read;
    source_->ComeAll();
  }
  EXPECT_GT(read, 200u);
  EXPECT_EQ(ahead_->status().source_reads, read - 4);
  EXPECT_EQ(ahead_->status().pool_bytes, 0u);
}

// It borrows what a neighbour does not need, and gives it back at any moment.
TEST_F(ReadAheadTest, GivingBackChangesNoByte) {
  Rng rng{RandomKey(41)};
  Make({}, /*shared=*/true);
  testing_support::Neighbour neighbour(memory_);
  for (uint64_t rank = 0; rank < 1200; ++rank) {
    ReadWhole(FileAt(rank));  // checks the bytes
    source_->ComeAll();
    neighbour.Step(rng);
    ASSERT_LE(memory_.pool->used(), memory_.pool->capacity());
  }
  EXPECT_GT(ahead_->status().hits, 0u);
  EXPECT_TRUE(neighbour.TakeAll());
  EXPECT_LE(ahead_->status().pool_bytes, memory_.guarantee);
}

TEST_F(ReadAheadTest, TooLittleMemoryIsRefused) {
  ReadAhead::Parts parts;
  parts.dataset = dataset_;
  parts.memory = testing_support::TestMemory(ReadAhead::kLeastMemory - 1);
  parts.source = std::make_unique<HeldSource>();
  Make();
  EXPECT_EQ(ReadAhead::Make(std::move(parts)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace shufflefs
