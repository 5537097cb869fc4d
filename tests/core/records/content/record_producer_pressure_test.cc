// SPDX-License-Identifier: Apache-2.0
// The memory of shuffled containers when it is too small, when the source
// fails, when it goes, and when many threads use it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/records/content/record_producer.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/records/content/record_producer_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Blocks;
using testing_support::ExpectBytes;
using testing_support::PolicyOf;
using testing_support::PoolBytes;
using testing_support::RandomSizes;
using testing_support::ReadFrom;
using testing_support::ShapeOptions;
using testing_support::TestFile;
using testing_support::TestPool;
using testing_support::TestRead;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kKernelRead = 128 << 10;

// Parts of a MiB, or of some.
ShapeOptions Records(uint64_t mib) {
  ShapeOptions options;
  options.sizes.assign(mib * 1024, 1024);
  return options;
}

TEST(RecordProducerPressureTest, AnErrorReachesTheReadersOfThatPartOnly) {
  TestPool test(64 * kMiB);
  const TestFile file(*test.pool, 1, Records(9), *Blocks(65536, 1));
  const absl::Status failure = absl::DataLossError("no such sector");
  const auto one = ReadFrom(*test.pool, file, 3 * kMiB + 5, 100);
  const auto two = ReadFrom(*test.pool, file, 3 * kMiB + 90000, 100);
  const size_t of_the_part = test.asked->waiting();
  const auto other = ReadFrom(*test.pool, file, 5 * kMiB + 5, 100);
  for (size_t i = 0; i < of_the_part; ++i) {
    test.asked->Come(i == 1 ? failure : absl::OkStatus());
  }
  test.asked->ComeAll();
  EXPECT_EQ(one->answers, 1);
  EXPECT_EQ(one->status, failure);
  EXPECT_EQ(two->answers, 1);
  EXPECT_EQ(two->status, failure);
  ExpectBytes(*other, file, 5 * kMiB + 5, 100);
  const auto again = ReadFrom(*test.pool, file, 3 * kMiB + 5, 100);
  test.asked->ComeAll();
  ExpectBytes(*again, file, 3 * kMiB + 5, 100);
}

// Workers of a loader, each in a file of its own, take turns. Memory holds
// three parts and a little, so the others get what they ask for and no more.
TEST(RecordProducerPressureTest, ManyReadersDoNotTakeEachOthersParts) {
  constexpr uint64_t kFileBytes = 48 * kMiB;
  constexpr uint64_t kBurst = 10 * kMiB;
  for (const uint32_t readers : {2, 3, 4, 6}) {
    SCOPED_TRACE(readers);
    TestPool test(64 * kMiB);
    ShapeOptions options;
    options.sizes.assign(kFileBytes / (128 << 10), 128 << 10);
    std::vector<std::unique_ptr<TestFile>> files;
    for (uint32_t id = 0; id < readers; ++id) {
      files.push_back(std::make_unique<TestFile>(*test.pool, id + 1, options,
                                                 *Blocks(kMiB, 16)));
    }
    for (uint64_t from = 0; from < kFileBytes; from += kBurst) {
      for (const auto& file : files) {
        const uint64_t end = std::min(from + kBurst, kFileBytes);
        for (uint64_t at = from; at < end; at += kKernelRead) {
          const auto read = ReadFrom(*test.pool, *file, at, kKernelRead);
          test.asked->ComeAll();
          ExpectBytes(*read, *file, at, kKernelRead);
        }
      }
    }
    EXPECT_LE(test.asked->bytes(), readers * kFileBytes * 5 / 4);
  }
}

// Memory holds two parts. Nobody else is there, so one may be ahead.
TEST(RecordProducerPressureTest, AReaderThatGoesFromFileToFileIsOneReader) {
  constexpr uint64_t kPart = 23 * kMiB;
  TestPool test(64 * kMiB);
  ShapeOptions options;
  options.sizes.assign(2 * kPart / (128 << 10), 128 << 10);
  for (uint32_t id = 1; id < 4; ++id) {
    SCOPED_TRACE(id);
    const TestFile file(*test.pool, id, options, *Blocks(kMiB, 23));
    for (uint64_t at = 0; at < 2 * kPart; at += kKernelRead) {
      const auto read = ReadFrom(*test.pool, file, at, kKernelRead);
      if (at == kPart) {
        EXPECT_EQ(read->answers, 1) << "it was not fetched ahead";
      }
      test.asked->ComeAll();
      ExpectBytes(*read, file, at, kKernelRead);
    }
  }
}

TEST(RecordProducerPressureTest, WhatFailedAheadOfAReaderIsTriedAgainForIt) {
  TestPool test(64 * kMiB);
  const TestFile file(*test.pool, 1, Records(9), *Blocks(65536, 1));
  const auto first = ReadFrom(*test.pool, file, 0, kKernelRead);
  while (first->answers == 0) ASSERT_TRUE(test.asked->Come());
  test.asked->ComeAll(absl::UnavailableError("the cable"));
  for (uint64_t at = kKernelRead; at < file.bytes.size(); at += kKernelRead) {
    const auto read = ReadFrom(*test.pool, file, at, kKernelRead);
    test.asked->ComeAll();
    ExpectBytes(*read, file, at, kKernelRead);
  }
  EXPECT_EQ(PoolBytes(test), 0u);
}

TEST(RecordProducerPressureTest,
     PartsLargerThanAQuarterOfTheMemoryAreReadAlone) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  TestPool test(RecordProducer::kLeastMemory);
  ShapeOptions shape = Records(9);
  shape.sizes.push_back(20 * kMiB);  // larger than the memory
  const TestFile file(*test.pool, 1, shape, *Blocks(kMiB, 64));
  std::vector<std::pair<uint64_t, std::shared_ptr<TestRead>>> reads;
  for (int i = 0; i < 60; ++i) {
    const uint64_t at = rng.Bounded(file.bytes.size() - kMiB);
    reads.emplace_back(at, ReadFrom(*test.pool, file, at, kMiB));
    EXPECT_LE(PoolBytes(test), RecordProducer::kLeastMemory);
  }
  while (test.asked->ComeAny(rng)) {
    EXPECT_LE(PoolBytes(test), RecordProducer::kLeastMemory);
  }
  for (const auto& [at, read] : reads) ExpectBytes(*read, file, at, kMiB);
  EXPECT_EQ(test.pool->status().bypass, 60u);
  EXPECT_EQ(PoolBytes(test), 0u);
}

// File i is on device i.
std::shared_ptr<const Catalogue> FilesOnDevices(uint32_t devices) {
  testing_support::TempTree tree;
  for (uint32_t i = 0; i < devices; ++i) tree.File(std::to_string(i), "");
  CatalogueTables tables = tree.Scanned().tables();
  tables.devices.resize(devices);
  const CatalogueTables::AttributeClass file =
      tables.classes[tables.attr_class[0]];
  for (uint32_t i = 0; i < devices; ++i) {
    tables.attr_class[i] = static_cast<uint32_t>(tables.classes.size());
    tables.classes.push_back(file);
    tables.classes.back().device = i;
  }
  return std::make_shared<const Catalogue>(
      Catalogue::FromTables(std::move(tables)));
}

// What is asked for of the first device never comes. Its reads fill what they
// may, and those of the other have room.
void ReadOtherWhileOneHangs(uint64_t memory, const ShapeOptions& shape,
                            const Policy& policy, uint64_t step) {
  TestPool test(testing_support::TestMemory(memory), nullptr, nullptr,
                FilesOnDevices(2));
  const TestFile hangs(*test.pool, 0, shape, policy);
  const TestFile other(*test.pool, 1, shape, policy);
  std::vector<std::shared_ptr<TestRead>> held;
  for (uint64_t at = 0; at + kMiB <= hangs.bytes.size(); at += step) {
    held.push_back(ReadFrom(*test.pool, hangs, at, kMiB));
  }
  for (uint64_t at = 0; at + kMiB <= other.bytes.size(); at += step) {
    const auto read = ReadFrom(*test.pool, other, at, kMiB);
    test.asked->ComeOf(EntryId(1));
    ExpectBytes(*read, other, at, kMiB);
  }
  EXPECT_LE(PoolBytes(test), memory);
  test.asked->ComeAll();
  for (size_t i = 0; i < held.size(); ++i) {
    ExpectBytes(*held[i], hangs, i * step, kMiB);
  }
}

TEST(RecordProducerPressureTest, ADeviceThatHangsLeavesOthersTheirStaging) {
  ReadOtherWhileOneHangs(64 * kMiB, Records(16), *Blocks(kMiB, 4), kMiB);
}

TEST(RecordProducerPressureTest, ADeviceThatHangsLeavesOthersTheirGathering) {
  ShapeOptions shape;
  shape.sizes.assign(160, 100 << 10);
  ReadOtherWhileOneHangs(64 * kMiB, shape, *Blocks(100 << 10, 16), kMiB);
}

TEST(RecordProducerPressureTest, ADeviceThatHangsLeavesOthersTheirBypassReads) {
  ShapeOptions shape = Records(9);
  shape.sizes.push_back(20 * kMiB);  // larger than the memory
  ReadOtherWhileOneHangs(RecordProducer::kLeastMemory, shape, *Blocks(kMiB, 64),
                         3 * kMiB);
}

TEST(RecordProducerPressureTest, AFailedLoneReadIsOfItsReaderAlone) {
  TestPool test(RecordProducer::kLeastMemory);
  const TestFile file(*test.pool, 1, Records(9), *Blocks(kMiB, 64));
  const auto one = ReadFrom(*test.pool, file, 1000, 100);
  const size_t of_the_first = test.asked->waiting();
  const auto two = ReadFrom(*test.pool, file, 1000, 100);
  const absl::Status failure = absl::DataLossError("no such sector");
  for (size_t i = 0; i < of_the_first; ++i) test.asked->Come(failure);
  test.asked->ComeAll();
  EXPECT_EQ(one->status, failure);
  ExpectBytes(*two, file, 1000, 100);
}

TEST(RecordProducerPressureTest,
     MoreReadersThanTheMemoryHasPartsAreAllAnswered) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  TestPool test(RecordProducer::kLeastMemory);
  const TestFile file(*test.pool, 1, Records(48), *Blocks(65536, 1));
  for (int round = 0; round < 3; ++round) {
    std::vector<std::pair<uint64_t, std::shared_ptr<TestRead>>> reads;
    for (uint64_t part = 0; part < 40; ++part) {
      const uint64_t at = part * kMiB + rng.Bounded(kMiB);
      reads.emplace_back(at, ReadFrom(*test.pool, file, at, kKernelRead));
    }
    while (test.asked->ComeAny(rng)) {
      EXPECT_LE(PoolBytes(test), RecordProducer::kLeastMemory);
    }
    for (const auto& [at, read] : reads) {
      ExpectBytes(*read, file, at, kKernelRead);
    }
  }
}

TEST(RecordProducerPressureTest, ReadersInTurnDoNotTakeEachOthersParts) {
  constexpr uint64_t kFiles = 16;
  TestPool test(64 * kMiB);
  std::deque<TestFile> files;
  for (uint64_t f = 0; f < kFiles; ++f) {
    files.emplace_back(*test.pool, f, Records(12), *Blocks(65536, 1));
  }
  for (uint64_t at = 0; at < 12 * kMiB; at += kKernelRead) {
    for (const TestFile& file : files) {
      const auto read = ReadFrom(*test.pool, file, at, kKernelRead);
      test.asked->ComeAll();
      ExpectBytes(*read, file, at, kKernelRead);
    }
  }
  const double amplification = static_cast<double>(test.asked->bytes()) /
                               static_cast<double>(kFiles * 12 * kMiB);
  // What straddles two blocks, and some that went before it was read.
  EXPECT_LT(amplification, 1.25);
  EXPECT_EQ(test.pool->status().bypass, 0u);
  EXPECT_EQ(PoolBytes(test), 0u);
}

TEST(RecordProducerPressureTest, ThePoolMayGoWhileReadsAreUnderWay) {
  for (const int come : {0, 1, 5, 30}) {
    TestPool test(RecordProducer::kLeastMemory);
    const TestFile file(*test.pool, 1, Records(30), *Blocks(65536, 1));
    std::vector<std::shared_ptr<TestRead>> reads;
    for (uint64_t at = 0; at < 30; ++at) {
      reads.push_back(ReadFrom(*test.pool, file, at * kMiB, 1000));
    }
    for (int i = 0; i < come; ++i) test.asked->Come();
    const std::weak_ptr<RecordProducer> gone = test.pool;
    test.pool.reset();
    test.asked->ComeAll(come == 5 ? absl::CancelledError("unmounted")
                                  : absl::OkStatus());
    for (const auto& read : reads) EXPECT_EQ(read->answers, 1);
    EXPECT_TRUE(gone.expired());
  }
}

// Lets what is asked for come, until it is told to stop and nothing is left.
void Serve(const std::shared_ptr<testing_support::AskedReads>& asked,
           const std::atomic<bool>& stop, uint64_t seed) {
  Rng rng{RandomKey(seed)};
  while (!stop || asked->waiting() > 0) {
    const bool fails = rng.Bounded(200) == 0;
    if (!asked->ComeAny(rng, fails ? absl::DataLossError("no such sector")
                                   : absl::OkStatus())) {
      std::this_thread::yield();
    }
  }
}

// One read, which is waited for.
void ReadAndLook(RecordProducer& pool, const TestFile& file, uint64_t at,
                 uint64_t length) {
  const auto answered = std::make_shared<std::latch>(1);
  pool.Read(file.file, at, length,
            [&, answered](absl::StatusOr<absl::Span<const iovec>> got) {
              uint64_t seen = 0;
              if (got.ok()) {
                for (const iovec& piece : *got) {
                  EXPECT_EQ(file.bytes.compare(
                                at + seen, piece.iov_len,
                                static_cast<const char*>(piece.iov_base),
                                piece.iov_len),
                            0);
                  seen += piece.iov_len;
                }
                EXPECT_EQ(seen, std::min(length, file.bytes.size() - at));
              } else {
                EXPECT_EQ(got.status().message(), "no such sector");
              }
              answered->count_down();
            });
  answered->wait();
}

TEST(RecordProducerPressureTest, ManyThreadsReadAndForget) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  StallClock stall;
  TestPool test(RecordProducer::kLeastMemory, &stall);
  Rng sizes{RandomKey(seed)};
  std::deque<TestFile> files;
  files.emplace_back(*test.pool, 1,
                     ShapeOptions{RandomSizes(9000, 900, sizes), 70, 9},
                     *PolicyOf("lirs", PolicyOptions()));
  files.emplace_back(*test.pool, 2, Records(6), *Blocks(65536, 1));
  files.emplace_back(*test.pool, 3, Records(5), *Blocks(kMiB, 64));
  std::atomic<bool> stop{false};
  std::vector<std::jthread> servers;
  for (uint64_t t = 0; t < 2; ++t) {
    servers.emplace_back([&, t] { Serve(test.asked, stop, seed + t); });
  }
  std::vector<std::jthread> readers;
  for (uint64_t t = 0; t < 6; ++t) {
    readers.emplace_back([&, t] {
      Rng rng{RandomKey(seed + 10 + t)};
      const TestFile& file = files[t % files.size()];
      uint64_t at = 0;
      for (int i = 0; i < 150; ++i) {
        if (t >= 3 || at >= file.bytes.size()) {
          at = rng.Bounded(t >= 3 ? file.bytes.size() : 1);
        }
        ReadAndLook(*test.pool, file, at, kKernelRead);
        at += kKernelRead;
        if (i % 50 == 49) test.pool->Forget({file.file});
        EXPECT_LE(PoolBytes(test), RecordProducer::kLeastMemory);
      }
    });
  }
  readers.clear();  // joins
  stop = true;
  servers.clear();
  // Nobody is left waiting: the clock stands.
  const double stalled = stall.Read().stalled_seconds;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(stall.Read().stalled_seconds, stalled);
  EXPECT_GT(stalled, 0);
}

}  // namespace
}  // namespace shufflefs
