// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/record_producer.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <deque>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "core/records/order/free_order.h"
#include "gtest/gtest.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using testing_support::Blocks;
using testing_support::ExpectBytes;
using testing_support::PolicyOf;
using testing_support::PoolBytes;
using testing_support::RandomSizes;
using testing_support::ReadFrom;
using testing_support::ShapeOptions;
using testing_support::SharedMemory;
using testing_support::TestFile;
using testing_support::TestMemory;
using testing_support::TestPool;
using testing_support::TestRead;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kKernelRead = 128 << 10;

ShapeOptions Shape(std::vector<uint64_t> sizes, uint64_t head = 0,
                   uint64_t tail = 0) {
  ShapeOptions options;
  options.sizes = std::move(sizes);
  options.head = head;
  options.tail = tail;
  return options;
}

// Records of which each is longer than what a policy reads together: most
// parts have no byte.
ShapeOptions LongLines(Rng& rng) {
  ShapeOptions options = Shape({}, 20);
  for (int i = 0; i < 12; ++i) {
    options.sizes.push_back(900000 + rng.Bounded(1500000));
  }
  options.lacks_newline = true;
  return options;
}

// One that reads on, or one that jumps.
struct Reader {
  const TestFile* file = nullptr;
  bool reads_on = false;
  uint64_t at = 0;
};

struct UnderWay {
  const TestFile* file;
  uint64_t offset;
  uint64_t length;
  std::shared_ptr<TestRead> read;
};

UnderWay Ask(TestPool& test, Reader& reader, Rng& rng) {
  const uint64_t size = reader.file->bytes.size();
  if (!reader.reads_on || reader.at >= size) {
    reader.at = rng.Bounded(reader.reads_on ? 2 : size);
  }
  const uint64_t length =
      1 + rng.Bounded(rng.Bounded(4) == 0 ? kMiB : kKernelRead);
  UnderWay asked{reader.file, reader.at, std::min(length, size - reader.at),
                 ReadFrom(*test.pool, *reader.file, reader.at, length)};
  reader.at += asked.length;
  return asked;
}

// Answers arrive in any order; `failures`: of a hundred reads of the source.
// If `memory` is shared, a neighbour takes its half and lets it go at any time.
void RunModel(const PoolMemory& memory, int failures, Rng& rng) {
  const uint64_t most = memory.pool->capacity();
  TestPool test(memory);
  absl::optional<testing_support::Neighbour> neighbour;
  if (most > memory.guarantee) neighbour.emplace(memory);
  PolicyOptions page;
  page.Set("lirs.unit", "page");
  std::deque<TestFile> files;
  files.emplace_back(*test.pool, 3, Shape(RandomSizes(20000, 400, rng), 99, 7),
                     *PolicyOf("lirs", PolicyOptions()));
  files.emplace_back(*test.pool, 4,
                     Shape(RandomSizes(9000, 2000, rng), 1500000, 2500000),
                     *Blocks(16384, 9));
  files.emplace_back(*test.pool, 5, LongLines(rng), *PolicyOf("lirs", page));
  files.emplace_back(*test.pool, 6,
                     Shape({2000, 5000000, 300, 70, 3000000, 9000}),
                     *Blocks(4096, 2));
  std::vector<Reader> readers;
  for (const TestFile& file : files) {
    readers.push_back({&file, true, 0});
    readers.push_back({&file, rng.Bounded(2) == 0, 0});
  }
  std::vector<UnderWay> all;
  const absl::Status failure = absl::DataLossError("no such sector");
  for (int step = 0; step < testing_support::Rounds(1500, 400); ++step) {
    if (rng.Bounded(3) == 0) {
      all.push_back(Ask(test, readers[rng.Bounded(readers.size())], rng));
    } else {
      test.asked->ComeAny(rng, rng.Bounded(100) < uint64_t(failures)
                                   ? failure
                                   : absl::OkStatus());
    }
    if (neighbour) neighbour->Step(rng);
    ASSERT_LE(PoolBytes(test), most);
    ASSERT_LE(memory.pool->used(), most);
  }
  while (test.asked->ComeAny(rng)) ASSERT_LE(PoolBytes(test), most);
  if (neighbour) EXPECT_TRUE(neighbour->TakeAll());
  for (const UnderWay& each : all) {
    if (failures > 0 && each.read->status == failure) continue;
    ExpectBytes(*each.read, *each.file, each.offset, each.length);
  }
}

TEST(RecordProducerTest, AnyReadGivesTheBytesWhateverComesFirst) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < testing_support::Rounds(4, 2); ++round) {
    RunModel(round % 2 == 0
                 ? TestMemory(RecordProducer::kLeastMemory << rng.Bounded(3))
                 : SharedMemory(RecordProducer::kLeastMemory),
             0, rng);
  }
}

TEST(RecordProducerTest, ErrorsOfTheSourceNeverGiveWrongBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < testing_support::Rounds(3, 2); ++round) {
    RunModel(round % 2 == 0 ? TestMemory(RecordProducer::kLeastMemory)
                            : SharedMemory(RecordProducer::kLeastMemory),
             10, rng);
  }
}

// Reads from the start to the end; what it asks for comes at once.
void ReadThrough(TestPool& test, const TestFile& file) {
  for (uint64_t at = 0; at < file.bytes.size(); at += kKernelRead) {
    const auto read = ReadFrom(*test.pool, file, at, kKernelRead);
    test.asked->ComeAll();
    ExpectBytes(*read, file, at, kKernelRead);
  }
}

TEST(RecordProducerTest, WhoReadsOnFindsWhatComesNextInMemory) {
  TestPool test(64 * kMiB);
  Rng rng{RandomKey(1)};
  const TestFile file(*test.pool, 1, Shape(RandomSizes(90000, 600, rng), 10),
                      *Blocks(65536, 4));
  ReadThrough(test, file);
  EXPECT_EQ(test.pool->status().misses, 1u) << "but for the first";
  EXPECT_EQ(test.pool->status().bypass, 0u);
}

TEST(RecordProducerTest, PartsWithoutRecordsDoNotEndReadingOn) {
  TestPool test(128 * kMiB);
  const TestFile file(*test.pool, 1, Shape(std::vector<uint64_t>(24, 1800000)),
                      *Blocks(4096, 1));
  ReadThrough(test, file);
  EXPECT_LE(test.pool->status().misses, 2u);
}

TEST(RecordProducerTest, SeveralSmallPartsInOneReadDoNotEndReadingOn) {
  TestPool test(64 * kMiB);
  // Of the blocks that are mixed hardly one has the beginning of a record.
  std::vector<uint64_t> sizes;
  for (int i = 0; i < 20; ++i) {
    sizes.push_back(2000000);
    sizes.insert(sizes.end(), 15, 3000);
  }
  const TestFile file(*test.pool, 1, Shape(std::move(sizes), 0, 3000000),
                      *Blocks(4096, 1));
  ReadThrough(test, file);
  EXPECT_LE(test.pool->status().misses, 2u);
}

TEST(RecordProducerTest, NothingIsFetchedAheadOfWhoJumps) {
  TestPool test(256 * kMiB);
  const TestFile file(*test.pool, 1,
                      Shape(std::vector<uint64_t>(60 * 1024, 1024)),
                      *Blocks(65536, 1));
  Rng rng{RandomKey(3)};
  uint64_t before = 0;
  for (int i = 0; i < 200; ++i) {
    const uint64_t at = 4096 + rng.Bounded(file.bytes.size() - 8192);
    const auto read = ReadFrom(*test.pool, file, at, 4096);
    test.asked->ComeAll();
    ExpectBytes(*read, file, at, 4096);
    const uint64_t now = PoolBytes(test);
    // A read may lie in two parts.
    ASSERT_LE(now, before + 2 * kMiB) << i;
    before = now;
  }
}

TEST(RecordProducerTest, WhatWasDeliveredLeaves) {
  TestPool test(64 * kMiB);
  Rng rng{RandomKey(4)};
  const TestFile small(*test.pool, 1,
                       Shape(RandomSizes(30000, 500, rng), 2000000, 1234567),
                       *PolicyOf("lirs", PolicyOptions()));
  ReadThrough(test, small);
  EXPECT_EQ(PoolBytes(test), 0u);
  for (int i = 0; i < 5; ++i) {
    const TestFile lines(*test.pool, 2 + i, LongLines(rng), *Blocks(4096, 1));
    ReadThrough(test, lines);
    // Pieces of records that came too late for their reader.
    EXPECT_LE(PoolBytes(test), 100000u) << i;
    test.pool->Forget({lines.file});
    EXPECT_EQ(PoolBytes(test), 0u) << i;
  }
}

// As if a few records were so large that parts of the mean size have one small
// record each.
TEST(RecordProducerTest, AReadOfManyPartsIsAnsweredInFewPieces) {
  TestPool test(64 * kMiB);
  constexpr uint64_t kRecords = 3000;
  const EntryId id(1);
  ContainerShape shape;
  shape.file_bytes = 40 * kRecords;
  shape.records = std::make_shared<FixedTable>(0, 40, kRecords);
  const auto policy = PolicyOf("lirs", PolicyOptions());
  const auto made = std::make_shared<RecordFile>();
  made->id = test.pool->NewId();
  made->file = id;
  const auto content = std::make_shared<ShuffledFile>(
      shape,
      std::make_unique<FreeOrder>(
          *shape.records,
          policy->MakeOrder(Stratum{1, kRecords, nullptr}, Seed(5), Epoch(2)),
          /*part_bytes=*/40));
  ASSERT_EQ(content->part_count(), kRecords);
  made->content = content;
  std::string source(shape.file_bytes, '\0');
  testing_support::BytesAt(id, 0, source.size(), source.data());
  std::string expected;
  for (uint64_t part = 0; part < kRecords; ++part) {
    expected += testing_support::Apply(content->Plan(part), source);
  }
  std::string shown;
  test.pool->Read(made, 0, kKernelRead,
                  [&shown](absl::StatusOr<absl::Span<const iovec>> got) {
                    ASSERT_TRUE(got.ok()) << got.status();
                    EXPECT_LT(got->size(), size_t{IOV_MAX});
                    for (const iovec& piece : *got) {
                      shown.append(static_cast<const char*>(piece.iov_base),
                                   piece.iov_len);
                    }
                  });
  test.asked->ComeAll();
  EXPECT_TRUE(shown == expected);
}

TEST(RecordProducerTest, AForgottenFileLeavesNothingBehind) {
  TestPool test(64 * kMiB);
  const TestFile file(*test.pool, 1,
                      Shape(std::vector<uint64_t>(30 * 1024, 1024)),
                      *Blocks(65536, 1));
  const TestFile other(*test.pool, 2,
                       Shape(std::vector<uint64_t>(3 * 1024, 1024)),
                       *Blocks(65536, 1));
  ReadThrough(test, other);
  const auto read = ReadFrom(*test.pool, file, 0, 1000);
  for (int i = 0; i < 3; ++i) test.asked->Come();
  const auto late = ReadFrom(*test.pool, file, 2 * kMiB, 1000);
  test.pool->Forget({file.file});
  test.asked->ComeAll();
  EXPECT_EQ(PoolBytes(test), 0u);
  ExpectBytes(*read, file, 0, 1000);
  ExpectBytes(*late, file, 2 * kMiB, 1000);
  ReadThrough(test, file);
}

TEST(RecordProducerTest, ReadsBehindTheEndAreEmptyAndAcrossItShort) {
  TestPool test(RecordProducer::kLeastMemory);
  const TestFile file(*test.pool, 1, Shape({100, 200, 300}), *Blocks(4096, 1));
  for (const uint64_t offset : {uint64_t{600}, (uint64_t{1} << 63) - 1}) {
    EXPECT_EQ(ReadFrom(*test.pool, file, offset, 5000)->answers, 1);
  }
  EXPECT_EQ(test.asked->waiting(), 0u);
  const auto read = ReadFrom(*test.pool, file, 500, ~uint64_t{0});
  test.asked->ComeAll();
  ExpectBytes(*read, file, 500, 100);
}

TEST(RecordProducerTest, TooLittleMemoryIsRefused) {
  RecordProducer::Parts parts;
  parts.memory = TestMemory(RecordProducer::kLeastMemory - 1);
  EXPECT_EQ(RecordProducer::Make(std::move(parts)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Pieces of records come with parts that were on their way, for parts that
// nobody will read.
TEST(RecordProducerTest, NothingIsKeptOfWhatComesForAForgottenFile) {
  Rng rng{RandomKey(33)};
  for (const bool forgets : {false, true}) {
    TestPool test(64 << 20);
    const TestFile file(*test.pool, 1, Shape(RandomSizes(9000, 1000, rng)),
                        *Blocks(65536, 4));
    ASSERT_GT(file.content->part_count(), 2u);
    const uint64_t part = file.begin_of[1];
    const auto read = ReadFrom(*test.pool, file, 0, part);
    if (forgets) test.pool->Forget({file.file});
    test.asked->ComeAll();
    ExpectBytes(*read, file, 0, part);
    EXPECT_EQ(PoolBytes(test) > 0, !forgets);
    test.pool->Forget({file.file});
    EXPECT_EQ(PoolBytes(test), 0u);
  }
}

// What is read ahead is begun by another thread, maybe later.
TEST(RecordProducerTest, WhoReadsOnInAForgottenFileGetsWhatHeAsksFor) {
  Rng rng{RandomKey(32)};
  TestPool test(64 << 20);
  const TestFile file(*test.pool, 1, Shape(RandomSizes(3000, 1000, rng)),
                      *Blocks(65536, 4));
  test.pool->Forget({file.file});
  for (uint64_t at = 0; at + kKernelRead < file.bytes.size();
       at += kKernelRead) {
    const auto read = ReadFrom(*test.pool, file, at, kKernelRead);
    test.asked->ComeAll();
    ExpectBytes(*read, file, at, kKernelRead);
    EXPECT_EQ(PoolBytes(test), 0u);
  }
}

// Who ends a mount stops the planning: no reader waits for a plan for ever.
TEST(RecordProducerTest, WhoWaitsForAPlanIsToldThatItDoesNotCome) {
  Rng rng{RandomKey(31)};
  Worker worker("test", 1);
  TestPool test(64 << 20, nullptr, &worker);
  const TestFile file(*test.pool, 1, Shape(RandomSizes(3000, 1000, rng)),
                      *Blocks(65536, 4));
  std::promise<void> begun;
  std::promise<void> go_on;
  worker.Post(
      [&](const absl::Status&) {
        begun.set_value();
        go_on.get_future().wait();
      },
      /*urgent=*/true);
  begun.get_future().wait();
  const auto planned = ReadFrom(*test.pool, file, 0, kKernelRead);
  EXPECT_EQ(planned->answers, 0);
  std::thread stop([&] { worker.Stop(); });
  // While another plan is still being made.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (planned.use_count() > 1 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(planned.use_count(), 1);
  go_on.set_value();
  stop.join();
  EXPECT_EQ(planned->answers, 1);
  EXPECT_EQ(planned->status.code(), absl::StatusCode::kCancelled);
  const auto late = ReadFrom(*test.pool, file, 0, kKernelRead);
  EXPECT_EQ(late->answers, 1);
  EXPECT_EQ(late->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(test.asked->waiting(), 0u);
  EXPECT_EQ(PoolBytes(test), 0u);
}

}  // namespace
}  // namespace shufflefs
