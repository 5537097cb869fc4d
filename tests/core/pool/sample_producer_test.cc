// SPDX-License-Identifier: Apache-2.0
// A producer reads from a source that the test drives. The tests check what
// readers get, what it costs, and that no reader waits for another.
#include "core/pool/sample_producer.h"

#include <atomic>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "core/base/status.h"
#include "core/pool/chunk_map.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "policies/brand/group_binder.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/sample_producer_fixture.h"
#include "tests/core/pool/test_memory.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using testing_support::ByteAt;
using testing_support::HeldSource;
using testing_support::SampleProducerTest;
using testing_support::TempTree;

TEST_F(SampleProducerTest, EveryEpochShowsEverySampleOnceAndReadsItOnce) {
  Make(4, 300, 12000, 4 << 20);
  std::mt19937_64 random(11);
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    if (epoch > 0) producer_->BeginEpoch(Seed(1), Epoch(epoch), {});
    std::vector<uint64_t> names(grouping().sample_count());
    for (uint64_t i = 0; i < names.size(); ++i) names[i] = i;
    for (size_t i = names.size(); i > 1; --i) {
      std::swap(names[i - 1], names[random() % i]);
    }
    std::set<uint64_t> shown;
    for (const uint64_t name : names) {
      const SampleId sample = ReadName(SampleId(name));
      EXPECT_TRUE(shown.insert(sample.value()).second) << "shown twice";
      EXPECT_EQ(grouping().group_of(sample),
                grouping().group_of(SampleId(name)));
      EXPECT_LE(producer_->status().pool_bytes, uint64_t{4} << 20);
    }
  }
  source_->ComeAll();
  const uint64_t total = dataset_->catalogue().total_bytes();
  // Once an epoch, and at most the pool full for an epoch that did not come;
  // but for what stayed in memory from one epoch to the next.
  EXPECT_LE(source_->bytes_read(), total * 4 + (4 << 20));
  EXPECT_GE(source_->bytes_read(), total * 4 - 3 * (4 << 20));
  EXPECT_LT(producer_->status().bypass, grouping().sample_count() / 20);
}

// It borrows what a neighbour does not need, and gives it back at any moment.
TEST_F(SampleProducerTest, GivingBackLosesAndRepeatsNothing) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  Make(4, 300, 12000, 6 << 20, 8, /*shared=*/true);
  testing_support::Neighbour neighbour(memory_);
  uint64_t most = 0;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    if (epoch > 0) producer_->BeginEpoch(Seed(1), Epoch(epoch), {});
    std::set<uint64_t> shown;
    for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
      shown.insert(ReadName(SampleId((name * 7 + epoch) % 1200)).value());
      if (epoch > 0) neighbour.Step(rng);
      most = std::max(most, producer_->status().pool_bytes);
      ASSERT_LE(memory_.pool->used(), memory_.pool->capacity());
    }
    EXPECT_EQ(shown.size(), grouping().sample_count());
  }
  EXPECT_GT(most, memory_.guarantee);
  while (source_->waiting() > 0) source_->ComeAll();
  EXPECT_TRUE(neighbour.TakeAll());
  EXPECT_LE(producer_->status().pool_bytes, memory_.guarantee);
}

// The kernel had the pages of most files that were opened first, so nobody
// reads them here, and nobody closes them.
TEST_F(SampleProducerTest, FilesWhoseOpensWereReportedLeaveWithoutAClose) {
  Make(1, 1200, 12000, 4 << 20);
  uint64_t name = 0;
  const auto open = [&](uint64_t until) {
    for (; name < until; ++name) {
      if (name % 8 == 0) ReadName(SampleId(name));
      producer_->NoteReportedOpen(FileOf(producer_->Bind(SampleId(name))));
      source_->ComeAll();
    }
  };
  const auto read = [&](uint64_t until) {
    const uint64_t before = producer_->status().bypass;
    for (; name < until; ++name) ReadName(SampleId(name));
    return producer_->status().bypass - before;
  };
  open(600);
  EXPECT_GT(read(650), 30u) << "the pool is full of what nobody reads";
  std::this_thread::sleep_for(SampleProducer::kOpenLong +
                              std::chrono::milliseconds(10));
  EXPECT_LT(read(1200), 60u);
}

// A node of several: it fetches the chunks that it owns, binds as many names,
// and drops what it held for the others.
TEST_F(SampleProducerTest, AShareIsFetchedAlone) {
  Make(3, 100, 12000, 4 << 20);
  for (uint64_t name = 0; name < 20; ++name) ReadName(SampleId(name));
  std::vector<uint32_t> chunks;
  std::vector<uint64_t> ours(3);
  std::set<uint64_t> own;
  for (uint32_t c = 0; c < producer_->chunks().size(); c += 2) {
    chunks.push_back(c);
    for (const uint32_t sample : producer_->chunks()[c]) {
      own.insert(sample);
      ++ours[grouping().group_of(SampleId(sample)).value()];
    }
  }
  while (source_->waiting() > 0) source_->ComeAll();
  producer_->TakeShare(chunks);
  EXPECT_EQ(producer_->status().pool_bytes, 0u);
  for (uint64_t epoch = 1; epoch < 4; ++epoch) {
    producer_->BeginEpoch(Seed(1), Epoch(epoch), {});
    std::set<uint64_t> shown;
    for (uint32_t g = 0; g < 3; ++g) {
      const uint64_t first = grouping().group(GroupId(g)).first_sample;
      // Any names of the group, but no more than there are samples.
      for (uint64_t i = 0; i < ours[g]; ++i) {
        const SampleId sample = ReadName(SampleId(first + (i + epoch) % 100));
        EXPECT_EQ(grouping().group_of(sample), GroupId(g));
        EXPECT_TRUE(shown.insert(sample.value()).second) << "shown twice";
      }
    }
    EXPECT_EQ(shown, own);
  }
  EXPECT_LT(producer_->status().bypass, own.size() / 20);
}

TEST_F(SampleProducerTest, ANodeMayOwnNothing) {
  Make(3, 30, 12000, 4 << 20);
  producer_->TakeShare({});
  producer_->BeginEpoch(Seed(1), Epoch(1), {});
  // A sample of another node is read past the pool.
  const EntryId file = FileOf(SampleId(5));
  const auto answer = Ask(file, 0, 100);
  while (!answer->there && source_->Come()) {
  }
  ExpectBytes(*answer, file, 0, 100);
  EXPECT_EQ(producer_->status().chunk_loads, 0u);
}

TEST_F(SampleProducerTest, WhatFitsIntoMemoryIsReadOnce) {
  Make(4, 100, 12000, 16 << 20);
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    if (epoch > 0) producer_->BeginEpoch(Seed(1), Epoch(epoch), {});
    std::set<uint64_t> shown;
    for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
      shown.insert(ReadName(SampleId((name * 7 + epoch) % 400)).value());
    }
    EXPECT_EQ(shown.size(), grouping().sample_count());
  }
  source_->ComeAll();
  EXPECT_EQ(source_->bytes_read(), dataset_->catalogue().total_bytes());
  EXPECT_EQ(producer_->status().bypass, 0u);
}

// Of a file that stayed for the next epoch, by a descriptor of the one before.
TEST_F(SampleProducerTest, ALateReadTakesNothingFromTheNextEpoch) {
  Make(2, 100, 12000, 16 << 20);
  std::vector<SampleId> shown;
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    shown.push_back(ReadName(SampleId(name)));
  }
  producer_->BeginEpoch(Seed(1), Epoch(1), {});
  for (const SampleId old : shown) {
    ExpectBytes(*Ask(FileOf(old), 0, SizeOf(old)), FileOf(old), 0, SizeOf(old));
    producer_->Close(FileOf(old));
  }
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    ReadName(SampleId(name));
  }
  source_->ComeAll();
  EXPECT_EQ(source_->bytes_read(), dataset_->catalogue().total_bytes());
  EXPECT_EQ(producer_->status().bypass, 0u);
}

TEST_F(SampleProducerTest, NothingIsReadBeforeSomebodyReads) {
  Make(2, 50, 5000, 4 << 20);
  for (uint64_t name = 0; name < 100; ++name) producer_->Bind(SampleId(name));
  EXPECT_EQ(source_->waiting(), 0u);
}

TEST_F(SampleProducerTest, AReaderOfWhatIsOnItsWayWaitsForNoOtherReader) {
  Make(2, 400, 30000, 4 << 20);
  // Reads the first name half, and goes away without a word.
  const SampleId first = producer_->Bind(SampleId(0));
  const auto half = Ask(FileOf(first), 0, SizeOf(first) / 2);
  source_->ComeAll();
  EXPECT_TRUE(half->there);
  // Everybody else is served, one after the other.
  for (uint64_t name = 1; name < grouping().sample_count(); ++name) {
    ReadName(SampleId(name));
  }
  ExpectBytes(*Ask(FileOf(first), SizeOf(first) / 2, 100), FileOf(first),
              SizeOf(first) / 2, 100);
}

TEST_F(SampleProducerTest, AFullPoolReadsJustTheAbsentee) {
  Make(2, 400, 30000, 4 << 20);
  ReadName(SampleId(0));
  source_->ComeAll();  // full now
  // All of one group in memory are bound, and none is read.
  std::set<uint64_t> bound;
  const uint64_t size = grouping().group(GroupId(0)).samples;
  for (uint64_t name = 1; name < size; ++name) {
    bound.insert(producer_->Bind(SampleId(name)).value());
  }
  EXPECT_EQ(bound.size(), size - 1) << "not one to one";
  const uint64_t before = source_->bytes_read();
  EXPECT_EQ(source_->waiting(), 0u);
  const SampleId absent = producer_->Bind(SampleId(size - 1));
  const auto answer = Ask(FileOf(absent), 0, SizeOf(absent));
  EXPECT_FALSE(answer->there);
  EXPECT_EQ(source_->waiting(), 1u);
  source_->ComeAll();
  ExpectBytes(*answer, FileOf(absent), 0, SizeOf(absent));
  EXPECT_EQ(source_->bytes_read() - before, SizeOf(absent));
  EXPECT_GE(producer_->status().bypass, 1u);
}

// Half of a file that was read alone stays in the pool. When its chunk is
// fetched in a later epoch it is not on its way, so it must not count as that.
TEST_F(SampleProducerTest, WhatWasReadAloneInPartIsNotOnItsWayForEver) {
  Make(1, 80, 90000, 4 << 20);
  uint64_t epoch = 0;
  for (; epoch < static_cast<uint64_t>(testing_support::Rounds(1000));
       ++epoch) {
    ReadName(SampleId(0));
    source_->ComeAll();
    for (uint64_t name = 1; name < grouping().sample_count(); ++name) {
      const SampleId shown = producer_->Bind(SampleId(name));
      Ask(FileOf(shown), 0, SizeOf(shown) / 2);
    }
    source_->ComeAll();
    producer_->BeginEpoch(Seed(1), Epoch(epoch + 1), {});
    source_->ComeAll();
  }
  // It still reads ahead: what is asked for is there, or on its way.
  const uint64_t misses = producer_->status().misses;
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    ReadName(SampleId(name));
    source_->ComeAll();
  }
  EXPECT_LT(producer_->status().misses - misses, 8u);
}

TEST_F(SampleProducerTest, AFileLargerThanTheMemoryIsReadPieceByPiece) {
  Make(2, 3, 9 << 20, 4 << 20);
  const SampleId shown = producer_->Bind(SampleId(0));
  const EntryId file = FileOf(shown);
  for (uint64_t at = 0; at < SizeOf(shown); at += 131072) {
    const uint64_t length = std::min<uint64_t>(131072, SizeOf(shown) - at);
    const auto answer = Ask(file, at, length);
    source_->ComeAll();
    ExpectBytes(*answer, file, at, length);
  }
  EXPECT_TRUE(Ask(file, SizeOf(shown), 100)->bytes.empty());
}

TEST_F(SampleProducerTest, ManyPiecesPastThePoolWaitForMemoryNotForReaders) {
  Make(2, 3, 9 << 20, 4 << 20);
  const SampleId shown = producer_->Bind(SampleId(0));
  std::vector<std::shared_ptr<Answer>> answers;
  for (uint64_t k = 0; k < 40; ++k) {
    answers.push_back(Ask(FileOf(shown), k * 131072 + 5, 131072));
  }
  EXPECT_LE(producer_->status().pool_bytes, uint64_t{4} << 20);
  EXPECT_LT(source_->waiting(), 40u);
  source_->ComeAll();
  for (uint64_t k = 0; k < 40; ++k) {
    ExpectBytes(*answers[k], FileOf(shown), k * 131072 + 5, 131072);
  }
}

TEST_F(SampleProducerTest, AFailedReadIsItsReadersAlone) {
  Make(2, 100, 20000, 4 << 20);
  const SampleId shown = producer_->Bind(SampleId(3));
  const auto answer = Ask(FileOf(shown), 0, SizeOf(shown));
  const absl::Status gone = ErrnoStatus(ESTALE, "c0/x: gone");
  while (!answer->there) {
    ASSERT_TRUE(source_->Come(gone));
  }
  EXPECT_EQ(ErrnoOf(answer->status), ESTALE);
  std::set<uint64_t> all = {shown.value()};
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    if (name != 3) all.insert(ReadName(SampleId(name)).value());
  }
  EXPECT_EQ(all.size(), grouping().sample_count());
}

TEST_F(SampleProducerTest, ReadersAreAnsweredAfterTheSourceWasStopped) {
  Make(2, 400, 30000, 4 << 20);
  std::vector<std::shared_ptr<Answer>> answers;
  for (uint64_t name = 0; name < 20; ++name) {
    const SampleId shown = producer_->Bind(SampleId(name));
    answers.push_back(Ask(FileOf(shown), 0, SizeOf(shown)));
  }
  for (int i = 0; i < 2000 && source_->Come(absl::CancelledError("stopped"));
       ++i) {
  }
  EXPECT_EQ(source_->waiting(), 0u) << "still asks for more";
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer->there);
    EXPECT_TRUE(absl::IsCancelled(answer->status)) << answer->status;
  }
}

TEST_F(SampleProducerTest, AnOldDescriptorReadsItsOwnFileInTheNextEpoch) {
  Make(2, 200, 20000, 4 << 20);
  const SampleId old = producer_->Bind(SampleId(7));
  const auto first = Ask(FileOf(old), 0, 4096);
  source_->ComeAll();
  ExpectBytes(*first, FileOf(old), 0, 4096);
  producer_->BeginEpoch(Seed(1), Epoch(1), {});
  const auto second = Ask(FileOf(old), 4096, 4096);
  source_->ComeAll();
  ExpectBytes(*second, FileOf(old), 4096, 4096);
  producer_->Close(FileOf(old));
  std::set<uint64_t> shown;
  for (uint64_t name = 0; name < grouping().sample_count(); ++name) {
    shown.insert(ReadName(SampleId(name)).value());
  }
  EXPECT_EQ(shown.size(), grouping().sample_count());
}

// Its reader began before the epoch did. The pool does not fetch it again.
TEST_F(SampleProducerTest, ASampleThatWasRetainedIsNotFetchedForItsReader) {
  Make(2, 200, 20000, 4 << 20);
  const std::vector<NameBinding> retained = {{7, 9}};
  producer_->BeginEpoch(Seed(1), Epoch(1), retained);
  const EntryId file = FileOf(SampleId(9));
  const auto answer = Ask(file, 4096, 4096);
  source_->ComeAll();
  ExpectBytes(*answer, file, 4096, 4096);
  EXPECT_EQ(producer_->status().bypass, 0u) << "it takes no memory of the pool";
}

TEST_F(SampleProducerTest, ManyThreadsAtOnceGetWholeFilesOfTheirGroup) {
  Make(4, 250, 9000, 4 << 20);
  std::atomic<bool> stop{false};
  std::thread device([&] {
    while (!stop) {
      if (!source_->Come()) std::this_thread::yield();
    }
  });
  for (uint64_t epoch = 1; epoch < 4; ++epoch) {
    producer_->BeginEpoch(Seed(1), Epoch(epoch), {});
    std::vector<std::thread> readers;
    std::vector<std::vector<uint64_t>> shown(4);
    for (uint64_t r = 0; r < 4; ++r) {
      readers.emplace_back([&, r] {
        for (uint64_t n = r; n < grouping().sample_count(); n += 4) {
          const SampleId sample = producer_->Bind(SampleId(n * 7 % 1000));
          shown[r].push_back(sample.value());
          std::atomic<bool> there{false};
          producer_->Read(FileOf(sample), 0, SizeOf(sample),
                          [&](absl::StatusOr<absl::Span<const iovec>> got) {
                            EXPECT_TRUE(got.ok()) << got.status();
                            uint64_t size = 0;
                            for (const iovec& piece : *got)
                              size += piece.iov_len;
                            EXPECT_EQ(size, SizeOf(sample));
                            there = true;
                          });
          while (!there) std::this_thread::yield();
          producer_->Close(FileOf(sample));
        }
      });
    }
    for (std::thread& reader : readers) reader.join();
    std::set<uint64_t> all;
    for (const auto& part : shown) all.insert(part.begin(), part.end());
    EXPECT_EQ(all.size(), grouping().sample_count());
  }
  stop = true;
  device.join();
  source_->ComeAll();
}

}  // namespace
}  // namespace shufflefs
