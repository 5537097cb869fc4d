// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/checked_file.h"

#include <errno.h>
#include <unistd.h>
#include <xxhash.h>

#include <string>

#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Spill;
using testing_support::TempTree;

constexpr CheckedFormat kPlainFormat = {
    .magic = "SHUFTST\n", .version = 7, .name = "a test", .other = "no test"};
constexpr CheckedFormat kAlignedTestFormat = {.magic = "SHUFTST\n",
                                              .version = 7,
                                              .name = "a test",
                                              .other = "no test",
                                              .align = 8};
constexpr CheckedFormat kSeededFormat = {.magic = "SHUFTST\n",
                                         .version = 7,
                                         .name = "a test",
                                         .other = "no test",
                                         .seeded = true};
constexpr char kWrongLength[] = "cut off, or not as long as its header says";

struct TestHeader {
  CheckedHead head;
  uint64_t words;
  uint64_t letters;
};
constexpr size_t kWordsAt = 24;
constexpr size_t kLettersAt = 32;
constexpr size_t kColumnsAt = 40;

struct WrittenFile {
  std::vector<uint64_t> words;
  std::string letters;
};

std::string Written(const CheckedFormat& format, const WrittenFile& file) {
  TestHeader header = {
      .head = {}, .words = file.words.size(), .letters = file.letters.size()};
  return absl::StrJoin(
      SealedPieces(format, header,
                   {ColumnBytes(file.words), ColumnBytes(file.letters)}),
      "");
}

template <typename Reader>
absl::Status ReadBy(Reader& reader, WrittenFile& file) {
  TestHeader header;
  absl::Status status = reader.ReadHeader(header);
  if (!status.ok()) return status;
  reader.Take(header.words, file.words);
  reader.Take(header.letters, file.letters);
  return reader.Finish();
}

// From memory, and from a file: both say and give the same.
absl::Status Read(const CheckedFormat& format, absl::string_view bytes,
                  WrittenFile& file) {
  WrittenFile again = file;
  CheckedReader reader(format, bytes);
  const absl::Status status = ReadBy(reader, file);
  const TempTree tree;
  Spill(tree.At("file"), std::string(bytes));
  auto on_disk = CheckedFileReader::Open(format, tree.At("file"), 1 << 20);
  if (!on_disk.ok()) return on_disk.status();
  EXPECT_EQ(ReadBy(*on_disk, again), status);
  EXPECT_EQ(again.words, file.words);
  EXPECT_EQ(again.letters, file.letters);
  EXPECT_EQ(again.words.capacity() == 0, file.words.capacity() == 0);
  return status;
}

absl::Status Refusal(const CheckedFormat& format, absl::string_view bytes) {
  WrittenFile file;
  return Read(format, bytes, file);
}

uint64_t WordAt(absl::string_view bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// With 8 bytes changed, and a checksum that fits.
std::string ForgedAt(std::string bytes, size_t at, uint64_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof word);
  const uint64_t sum = XXH3_64bits(bytes.data() + 24, bytes.size() - 24);
  std::memcpy(bytes.data() + 16, &sum, sizeof sum);
  return bytes;
}

TEST(CheckedFileTest, LiesAsDocumented) {
  const std::string bytes = Written(kPlainFormat, {{5, 6}, "abc"});
  ASSERT_EQ(bytes.size(), kColumnsAt + 2 * 8 + 3);
  EXPECT_EQ(bytes.substr(0, 16),
            std::string("SHUFTST\n\x07\0\0\0\x28\0\0\0", 16));
  EXPECT_EQ(WordAt(bytes, 16), XXH3_64bits(bytes.data() + 24, 35));
  EXPECT_EQ(WordAt(bytes, kWordsAt), 2u);
  EXPECT_EQ(WordAt(bytes, kLettersAt), 3u);
  EXPECT_EQ(bytes.substr(kColumnsAt),
            std::string("\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0abc", 19));
}

TEST(CheckedFileTest, ColumnsAreAligned) {
  const std::string bytes = Written(kAlignedTestFormat, {{5}, "abc"});
  EXPECT_EQ(bytes.substr(kColumnsAt + 8), std::string("abc\0\0\0\0\0", 8));
  EXPECT_EQ(WordAt(bytes, 16), XXH3_64bits(bytes.data() + 24, 32));
  EXPECT_EQ(Written(kAlignedTestFormat, {{5}, "abcdefgh"}).size(),
            kColumnsAt + 16);
  EXPECT_EQ(Refusal(kAlignedTestFormat,
                    absl::string_view(bytes).substr(0, kColumnsAt + 8 + 3)),
            absl::DataLossError(kWrongLength));
}

// XXH3 goes other ways with up to 16, 128 and 240 bytes, and with more than a
// kilobyte.
TEST(CheckedFileTest, ChecksumsAreThoseOfBytesInOnePiece) {
  for (const size_t words : {0, 1, 7, 20, 29, 40, 500, 100000}) {
    WrittenFile file;
    for (size_t i = 0; i < words; ++i) file.words.push_back(i * i);
    file.letters = std::string(words % 5, 'x');
    const std::string plain = Written(kPlainFormat, file);
    EXPECT_EQ(WordAt(plain, 16),
              XXH3_64bits(plain.data() + 24, plain.size() - 24));
    const std::string seeded = Written(kSeededFormat, file);
    EXPECT_EQ(WordAt(seeded, 16),
              XXH3_64bits_withSeed(seeded.data() + kColumnsAt,
                                   seeded.size() - kColumnsAt,
                                   XXH3_64bits(seeded.data() + 24, 16)));
    EXPECT_EQ(seeded.substr(24), plain.substr(24));
  }
}

TEST(CheckedFileTest, WhatIsWrittenIsRead) {
  for (const auto& format : {kPlainFormat, kAlignedTestFormat, kSeededFormat}) {
    WrittenFile file = {{9}, "old"};
    ASSERT_TRUE(Read(format, Written(format, {{1, 2, 3}, "abc"}), file).ok());
    EXPECT_THAT(file.words, ElementsAre(1, 2, 3));
    EXPECT_EQ(file.letters, "abc");
    ASSERT_TRUE(Read(format, Written(format, {}), file).ok());
    EXPECT_TRUE(file.words.empty() && file.letters.empty());
  }
}

// Its columns are cleared on several processors, and it is read ahead.
TEST(CheckedFileTest, ALargeFileIsReadAsItWasWritten) {
  WrittenFile file;
  for (uint64_t i = 0; i < uint64_t{3} << 20; ++i) file.words.push_back(i * i);
  file.letters = std::string(5000000, 'x') + "y";
  const TempTree tree;
  Spill(tree.At("file"), Written(kAlignedTestFormat, file));
  auto reader = CheckedFileReader::Open(kAlignedTestFormat, tree.At("file"),
                                        uint64_t{1} << 30);
  ASSERT_TRUE(reader.ok()) << reader.status();
  WrittenFile read;
  EXPECT_EQ(ReadBy(*reader, read), absl::OkStatus());
  EXPECT_TRUE(read.words == file.words);
  EXPECT_TRUE(read.letters == file.letters);
}

TEST(CheckedFileTest, EveryTruncationAndEveryFlippedBitIsRefused) {
  for (const auto& format : {kPlainFormat, kAlignedTestFormat, kSeededFormat}) {
    const std::string good = Written(format, {{1, 2, 3}, "abcde"});
    for (size_t size = 0; size < good.size(); ++size) {
      EXPECT_EQ(Refusal(format, good.substr(0, size)),
                size < kColumnsAt ? absl::InvalidArgumentError("no test")
                                  : absl::DataLossError(kWrongLength));
    }
    EXPECT_EQ(Refusal(format, good + '\0'), absl::DataLossError(kWrongLength));
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      EXPECT_EQ(Refusal(format, bad).code(),
                bit / 8 < 16 ? absl::StatusCode::kInvalidArgument
                             : absl::StatusCode::kDataLoss)
          << bit;
    }
    std::string bad = good;
    bad.back() ^= 1;
    EXPECT_EQ(Refusal(format, bad),
              absl::DataLossError("the checksum differs"));
  }
}

TEST(CheckedFileTest, OtherVersionsAreNamed) {
  const std::string good = Written(kPlainFormat, {{1}, "a"});
  std::string bad = good;
  bad[8] = 8;
  EXPECT_EQ(Refusal(kPlainFormat, bad),
            absl::InvalidArgumentError("a test of version 8, not 7"));
  bad = good;
  bad[12] = 48;  // bytes of the header
  EXPECT_EQ(Refusal(kPlainFormat, bad).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Refusal(kPlainFormat, std::string(100, 'x')),
            absl::InvalidArgumentError("no test"));
}

// The third is as long in bytes as what there is, but for the overflow.
TEST(CheckedFileTest, ACountThatIsOnlySaidAllocatesNothing) {
  const std::string good = Written(kPlainFormat, {{1, 2, 3}, "abcdefgh"});
  for (const uint64_t count : {uint64_t{5}, uint64_t{1} << 40,
                               (uint64_t{1} << 61) + 3, ~uint64_t{0}}) {
    WrittenFile file;
    EXPECT_EQ(Read(kPlainFormat, ForgedAt(good, kWordsAt, count), file),
              absl::DataLossError(kWrongLength))
        << count;
    EXPECT_EQ(file.words.capacity(), 0u) << count;
    EXPECT_EQ(file.letters, "") << count << ": behind what was not there";
  }
}

TEST(CheckedFileTest, AllOfTheFileIsTaken) {
  const std::string good = Written(kPlainFormat, {{1, 2, 3}, "abcdefgh"});
  EXPECT_EQ(Refusal(kPlainFormat, ForgedAt(good, kWordsAt, 2)),
            absl::DataLossError(kWrongLength));
  EXPECT_EQ(Refusal(kPlainFormat, ForgedAt(good, kLettersAt, 7)),
            absl::DataLossError(kWrongLength));
  // What fits in both is another file, not a damaged one.
  WrittenFile file;
  std::string other = ForgedAt(good, kWordsAt, 2);
  other = ForgedAt(other, kLettersAt, 16);
  ASSERT_TRUE(Read(kPlainFormat, other, file).ok());
  EXPECT_THAT(file.words, ElementsAre(1, 2));
  EXPECT_EQ(file.letters, std::string("\3\0\0\0\0\0\0\0abcdefgh", 16));
}

TEST(CheckedFileTest, AFileThatIsTooLargeOrNotThereIsNamed) {
  const TempTree tree;
  const std::string path = tree.At("file");
  EXPECT_EQ(ErrnoOf(CheckedFileReader::Open(kPlainFormat, path, 99).status()),
            ENOENT);
  Spill(path, std::string(100, 'x'));
  const absl::Status status =
      CheckedFileReader::Open(kPlainFormat, path, 99).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr(path));
}

// Behind its header, after its size was taken.
TEST(CheckedFileTest, AFileThatIsCutWhileItIsReadIsRefused) {
  const TempTree tree;
  const std::string path = tree.At("file");
  Spill(path, Written(kPlainFormat, {{1, 2, 3}, "abc"}));
  auto reader = CheckedFileReader::Open(kPlainFormat, path, 1 << 20);
  ASSERT_TRUE(reader.ok());
  TestHeader header;
  ASSERT_TRUE(reader->ReadHeader(header).ok());
  ASSERT_EQ(truncate(path.c_str(), kColumnsAt + 9), 0);
  WrittenFile file;
  reader->Take(header.words, file.words);
  reader->Take(header.letters, file.letters);
  EXPECT_EQ(reader->Finish(), absl::DataLossError(kWrongLength));
}

TEST(CheckedFileTest, AColumnMayBeWhatIsLeft) {
  const std::string good = Written(kSeededFormat, {{1, 2, 3}, ""});
  TestHeader header;
  CheckedReader reader(kSeededFormat, good);
  ASSERT_TRUE(reader.ReadHeader(header).ok());
  EXPECT_EQ(reader.bytes_left(), 24u);
  EXPECT_EQ(reader.TakeView(2, 8).data(), good.data() + kColumnsAt);
  EXPECT_EQ(reader.bytes_left(), 8u);
  EXPECT_EQ(reader.Finish(), absl::DataLossError(kWrongLength));
  EXPECT_EQ(reader.TakeView(1, 8).size(), 8u);
  EXPECT_TRUE(reader.Finish().ok());
}

}  // namespace
}  // namespace shufflefs
