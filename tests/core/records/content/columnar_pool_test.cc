// SPDX-License-Identifier: Apache-2.0
// Columnar containers, read through the memory of shuffled containers.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/records/content/kept_plans.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/columnar_fixture.h"
#include "tests/core/records/content/record_producer_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ArrowBlock;
using testing_support::ArrowFooterOf;
using testing_support::ByteAt;
using testing_support::ColumnarShape;
using testing_support::PolicyOf;
using testing_support::PoolBytes;
using testing_support::TestPool;
using testing_support::TestRead;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kKernelRead = 128 << 10;

// Of `count` groups of `size` bytes, whose bytes are ByteAt. What is shown in
// the place of the list comes from nowhere, and so what a source would give
// there is wrong.
struct ColumnarFile {
  ColumnarFile(RecordProducer& pool, uint64_t count, uint64_t size) {
    std::vector<ArrowBlock> blocks(count);
    for (uint64_t i = 0; i < count; ++i) {
      blocks[i].offset = static_cast<int64_t>(8 + i * size);
      blocks[i].body_bytes = static_cast<int64_t>(size) - 56;
    }
    const std::string footer = ArrowFooterOf(blocks, {});
    const uint64_t file_bytes = 8 + count * size + footer.size();
    const ContainerShape shape =
        ColumnarShape(ParseArrowFooter(footer, file_bytes), file_bytes);
    const auto make = [&shape] {
      RecordOrderOptions options;
      options.records_are_blocks = true;
      return std::make_shared<ShuffledFile>(
          shape, MakeRecordOrder(*PolicyOf("lirs", PolicyOptions()),
                                 *shape.records, options));
    };
    std::string source(file_bytes, '\0');
    for (uint64_t at = 0; at < file_bytes; ++at) {
      source[at] = ByteAt(EntryId(1), at);
    }
    const auto content = make();
    for (uint64_t part = 0; part < content->part_count(); ++part) {
      bytes += testing_support::Apply(content->Plan(part), source);
    }
    list = shape.columnar->footer().begin();
    list_bytes = shape.columnar->footer().size();
    EXPECT_NE(bytes.substr(list, list_bytes), source.substr(list, list_bytes));
    auto made = std::make_shared<RecordFile>();
    made->id = pool.NewId();
    made->file = EntryId(1);
    made->content = make();
    file = std::move(made);
  }

  std::shared_ptr<const RecordFile> file;
  std::string bytes;  // as shown
  uint64_t list = 0;
  uint64_t list_bytes = 0;
};

std::shared_ptr<TestRead> Ask(RecordProducer& pool, const ColumnarFile& file,
                              uint64_t offset, uint64_t length) {
  auto read = std::make_shared<TestRead>();
  pool.Read(file.file, offset, length,
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

void Expect(const TestRead& read, const ColumnarFile& file, uint64_t offset,
            uint64_t length) {
  ASSERT_EQ(read.answers, 1) << offset << " " << length;
  ASSERT_TRUE(read.status.ok()) << read.status;
  ASSERT_TRUE(read.bytes == file.bytes.substr(offset, length))
      << offset << " " << length;
}

TEST(ColumnarPoolTest, NoPartOfALongListTakesMuchMemory) {
  TestPool test(RecordProducer::kLeastMemory);
  const ColumnarFile file(*test.pool, 200000, 64);
  ASSERT_GT(file.list_bytes, 4 * kMiB);
  const PartedFile& content = *file.file->content;
  for (uint64_t part = 0; part < content.part_count(); ++part) {
    for (const PartLiteral& literal : content.Plan(part).literals) {
      EXPECT_LE(literal.bytes.capacity(), kMiB);
    }
  }
  // Also if a part is read alone.
  KeptPlans plans(0);
  for (uint64_t at = 0; at < file.bytes.size(); at += kMiB - 1) {
    const uint64_t take = std::min(kKernelRead, file.bytes.size() - at);
    const PartPlan plan = plans.OfRange(1, content, at, take);
    for (const PartLiteral& literal : plan.literals) {
      EXPECT_LE(literal.bytes.size(), kKernelRead);
      EXPECT_TRUE(file.bytes.compare(at + literal.to, literal.bytes.size(),
                                     literal.bytes) == 0);
    }
  }
}

TEST(ColumnarPoolTest, TheListNeedsNoReadOfTheSource) {
  TestPool test(RecordProducer::kLeastMemory);
  const ColumnarFile file(*test.pool, 1000, 3000);
  for (const uint64_t from :
       {uint64_t{0}, uint64_t{100}, file.list_bytes - 1}) {
    const uint64_t length = file.list_bytes - from;
    const auto read = Ask(*test.pool, file, file.list + from, length);
    Expect(*read, file, file.list + from, length);
  }
  EXPECT_EQ(test.asked->waiting(), 0u);
  EXPECT_EQ(test.asked->bytes(), 0u);
}

TEST(ColumnarPoolTest, AListLargerThanAPartMayBeIsRightToo) {
  TestPool test(RecordProducer::kLeastMemory);
  const ColumnarFile file(*test.pool, 150000, 64);
  ASSERT_GT(file.list_bytes, test.pool->largest_part());
  for (uint64_t at = file.list - 5000; at < file.bytes.size();
       at += kKernelRead) {
    const auto read = Ask(*test.pool, file, at, kKernelRead);
    test.asked->ComeAll();
    Expect(*read, file, at, kKernelRead);
  }
  PoolBytes(test);
}

TEST(ColumnarPoolTest, WhoJumpsAboutHasNoMoreReadThanItWants) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  TestPool test(RecordProducer::kLeastMemory);
  const ColumnarFile file(*test.pool, 20, 3 * kMiB);
  uint64_t parts = 0;
  for (int i = 0; i < 60; ++i) {
    const uint64_t at = rng.Bounded(file.list - 4096);
    const auto read = Ask(*test.pool, file, at, 4096);
    parts += at / kKernelRead == (at + 4095) / kKernelRead ? 1 : 2;
    test.asked->ComeAll();
    Expect(*read, file, at, 4096);
  }
  EXPECT_LE(test.asked->bytes(), parts * kKernelRead);
}

TEST(ColumnarPoolTest, WhatIsReadAheadOfAGroupIsOfThatGroup) {
  TestPool test(64 * kMiB);
  const uint64_t size = 3 * kMiB;
  const ColumnarFile file(*test.pool, 20, size);
  // The first bytes, as a reader looks at the magic, then groups in an order.
  Ask(*test.pool, file, 0, 8);
  test.asked->ComeAll();
  EXPECT_LE(test.asked->bytes(), kKernelRead);
  uint64_t most = kKernelRead;
  for (const uint64_t group : {7u, 3u, 12u, 19u}) {
    const uint64_t begin = 8 + group * size;
    for (uint64_t at = begin; at < begin + size; at += kKernelRead) {
      const auto read = Ask(*test.pool, file, at, kKernelRead);
      test.asked->ComeAll();
      Expect(*read, file, at, kKernelRead);
    }
    most += size + kKernelRead;  // no group begins where a part does
    EXPECT_LE(test.asked->bytes(), most) << group;
  }
}

TEST(ColumnarPoolTest, WhoReadsAColumnOfEachGroupHasLittleElseRead) {
  TestPool test(64 * kMiB);
  const uint64_t size = 8 * kMiB;
  const ColumnarFile file(*test.pool, 8, size);
  const uint64_t column = kMiB;
  for (const uint64_t group : {5u, 2u, 7u, 0u, 3u}) {
    const uint64_t begin = 8 + group * size + 3 * kMiB;
    for (uint64_t at = begin; at < begin + column; at += kKernelRead) {
      const auto read = Ask(*test.pool, file, at, kKernelRead);
      test.asked->ComeAll();
      Expect(*read, file, at, kKernelRead);
    }
  }
  EXPECT_LE(test.asked->bytes(), 5 * 2 * column);
}

TEST(ColumnarPoolTest, AllOfItFromTheStartInAnyReads) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  TestPool test(RecordProducer::kLeastMemory);
  const ColumnarFile file(*test.pool, 300, 40000);
  for (uint64_t at = 0; at < file.bytes.size();) {
    const uint64_t length = 1 + rng.Bounded(2 * kMiB);
    const auto read = Ask(*test.pool, file, at, length);
    while (test.asked->ComeAny(rng)) {
    }
    Expect(*read, file, at, read->bytes.size());
    ASSERT_GT(read->bytes.size(), 0u);
    at += read->bytes.size();
  }
  PoolBytes(test);
}

}  // namespace
}  // namespace shufflefs
