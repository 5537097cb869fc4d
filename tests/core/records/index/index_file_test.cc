// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/index_file.h"

#include <errno.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/records/index/offset_table_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::Slurp;
using testing_support::TempTree;

// Of so many records of up to 1000 bytes, and a footer of 5.
RecordIndex MakeIndex(uint64_t count, uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  OffsetTableBuilder builder;
  if (count > 0) builder.Begin(rng() % 100);
  for (uint64_t i = 0; i < count; ++i) builder.Add(1 + rng() % 1000);
  RecordIndex index;
  index.file = {.format = "tfrecord",
                .identity = {.device = 0x801,
                             .inode = 77,
                             .size = builder.end() + 5,
                             .mtime_ns = -1'234'567'890'123'456'789,
                             .ctime_ns = 1'234'567'890'123'456'789}};
  index.table = builder.Finish();
  return index;
}

void ExpectSame(const OffsetTable& one, const OffsetTable& other) {
  ASSERT_EQ(one.count(), other.count());
  for (uint64_t i = 0; i <= one.count(); ++i) {
    ASSERT_EQ(one.begin(i), other.begin(i)) << i;
  }
}

class IndexFileTest : public ::testing::Test {
 protected:
  std::string FilePath() const { return state_.At("index"); }
  // The bytes of the file that it is saved in.
  std::string Saved(const RecordIndex& index) const {
    EXPECT_TRUE(SaveRecordIndex(FilePath(), index).ok());
    return Slurp(FilePath());
  }

  TempTree state_;
};

TEST_F(IndexFileTest, WhatIsSavedIsLoaded) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (const uint64_t count : {0, 1, 2, 63, 64, 1000, 100'000}) {
    const RecordIndex index = MakeIndex(count, rng());
    ASSERT_TRUE(SaveRecordIndex(FilePath(), index).ok());
    const auto loaded = LoadRecordIndex(FilePath(), index.file);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->file, index.file);
    ExpectSame(*loaded->table, *index.table);
  }
  EXPECT_FALSE(std::filesystem::exists(FilePath() + ".new"));
}

TEST_F(IndexFileTest, RefusesAnIndexOfAnotherFile) {
  const RecordIndex index = MakeIndex(100);
  ASSERT_TRUE(SaveRecordIndex(FilePath(), index).ok());
  const auto refusal = [&](const IndexedFile& expected) {
    const absl::Status status = LoadRecordIndex(FilePath(), expected).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr(FilePath() + ": "));
    return std::string(status.message());
  };
  IndexedFile grown = index.file;
  grown.identity.size += 1;
  EXPECT_THAT(refusal(grown), HasSubstr(absl::StrCat(
                                  "of a file of ", index.file.identity.size,
                                  " bytes, which has ", grown.identity.size)));
  const auto otherwise = [&](auto FileIdentity::*field) {
    IndexedFile changed = index.file;
    changed.identity.*field += 1;
    return refusal(changed);
  };
  EXPECT_THAT(otherwise(&FileIdentity::mtime_ns),
              HasSubstr("written or replaced since"));
  // Size and mtime are as they were.
  EXPECT_THAT(otherwise(&FileIdentity::ctime_ns),
              HasSubstr("written or replaced since"));
  EXPECT_THAT(otherwise(&FileIdentity::inode),
              HasSubstr("written or replaced since"));
  EXPECT_THAT(otherwise(&FileIdentity::device),
              HasSubstr("written or replaced since"));
  IndexedFile other = index.file;
  other.format = "lines";
  EXPECT_THAT(refusal(other), HasSubstr("'tfrecord', not 'lines'"));
}

TEST_F(IndexFileTest, RefusesEveryTruncationAndEveryFlippedBit) {
  const RecordIndex index = MakeIndex(100);
  const std::string bytes = Saved(index);
  ASSERT_TRUE(ParseRecordIndex(bytes, index.file).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(ParseRecordIndex(bytes.substr(0, length), index.file).ok())
        << length;
  }
  EXPECT_EQ(ParseRecordIndex(bytes + "x", index.file).status().code(),
            absl::StatusCode::kDataLoss);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    const absl::Status status = ParseRecordIndex(damaged, index.file).status();
    // The magic, the version and the length of the header come first.
    EXPECT_EQ(status.code(), at < testing_support::kChecksumAt
                                 ? absl::StatusCode::kInvalidArgument
                                 : absl::StatusCode::kDataLoss)
        << at;
  }
}

// With 8 bytes at `at` changed, and a checksum that fits: it proves nothing
// about who wrote it.
std::string Forged(std::string bytes, size_t at, uint64_t value,
                   size_t header_bytes = 152) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  testing_support::SealSeeded(bytes, header_bytes);
  return bytes;
}

TEST_F(IndexFileTest, RefusesWhatMakesNoSense) {
  const RecordIndex index = MakeIndex(100);
  const OffsetTable::Extent& extent = index.table->extent();
  const std::string bytes = Saved(index);
  const auto damage = [&](const std::string& forged) {
    const absl::Status status = ParseRecordIndex(forged, index.file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    return std::string(status.message());
  };
  constexpr size_t kCount = 64;
  constexpr size_t kEnd = 80;
  constexpr size_t kWords = 152;
  ASSERT_TRUE(
      ParseRecordIndex(Forged(bytes, kCount, extent.count), index.file).ok());
  EXPECT_THAT(damage(Forged(bytes, kCount, ~uint64_t{0})),
              HasSubstr("records lie between"));
  EXPECT_THAT(damage(Forged(bytes, kCount, extent.count + 64)),
              HasSubstr("words do not tell where 164 records are"));
  EXPECT_THAT(damage(Forged(bytes, kEnd, index.file.identity.size + 1)),
              HasSubstr("beyond the end of the file"));
  EXPECT_THAT(damage(Forged(bytes, kWords, ~uint64_t{0})),
              HasSubstr("are not consecutive"));
  EXPECT_THAT(damage(Forged(bytes, 144, 0x0101010101010101)),
              HasSubstr("does not end"));
  EXPECT_THAT(damage(Forged(bytes + "x", kCount, extent.count)),
              HasSubstr("not as long"));
}

TEST_F(IndexFileTest, SaysWhatTheFileIs) {
  const RecordIndex index = MakeIndex(3);
  EXPECT_EQ(ErrnoOf(LoadRecordIndex(FilePath(), index.file).status()), ENOENT);
  std::ofstream(FilePath()) << std::string(500, 'x');
  const absl::Status other = LoadRecordIndex(FilePath(), index.file).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(other.message()),
            FilePath() + ": holds no index of records");
  std::string bytes = Saved(index);
  bytes[8] = 99;
  EXPECT_THAT(
      std::string(ParseRecordIndex(bytes, index.file).status().message()),
      HasSubstr("version 99"));
  EXPECT_EQ(ErrnoOf(SaveRecordIndex(state_.At("no/dir"), index)), ENOENT);
}

TEST_F(IndexFileTest, TheNameOfTheFormatHasALimit) {
  RecordIndex index = MakeIndex(3);
  index.file.format = std::string(kMostFormatBytes, 'f');
  ASSERT_TRUE(SaveRecordIndex(FilePath(), index).ok());
  EXPECT_TRUE(LoadRecordIndex(FilePath(), index.file).ok());
  index.file.format += 'f';
  EXPECT_EQ(SaveRecordIndex(FilePath(), index).code(),
            absl::StatusCode::kInvalidArgument);
}

// Hashes in order, and the file they are of.
struct SomeNames {
  IndexedFile file = MakeIndex(3).file;
  NameHashes names = {3, 77, uint64_t{1} << 63, ~uint64_t{0}};
};

TEST_F(IndexFileTest, NamesThatAreSavedAreLoaded) {
  SomeNames some;
  some.file.identity.size = 4 * 512;
  const FilePlace place = NamesPlace(FilePath());
  EXPECT_EQ(place.path(), FilePath() + ".names");
  for (const NameHashes& names : {some.names, NameHashes()}) {
    ASSERT_TRUE(SaveRecordNames(place, some.file, names).ok());
    const auto loaded = LoadRecordNames(place, some.file);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(*loaded, names);
  }
  // One name more than a file of this size can have.
  some.file.identity.size -= 1;
  ASSERT_TRUE(SaveRecordNames(place, some.file, some.names).ok());
  EXPECT_FALSE(LoadRecordNames(place, some.file).ok());
}

TEST_F(IndexFileTest, RefusesNamesOfAnotherFile) {
  const SomeNames some;
  ASSERT_TRUE(SaveRecordNames(FilePath(), some.file, some.names).ok());
  const std::string bytes = Slurp(FilePath());
  IndexedFile other = some.file;
  other.format = "tar";
  IndexedFile changed = some.file;
  changed.identity.ctime_ns += 1;
  for (const IndexedFile& expected : {other, changed}) {
    EXPECT_EQ(ParseRecordNames(bytes, expected).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  // An index is no file of names, and the other way round.
  EXPECT_EQ(ParseRecordIndex(bytes, some.file).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseRecordNames(Saved(MakeIndex(3)), some.file).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(IndexFileTest, RefusesNamesWithAFlippedBitOrAnotherLength) {
  const SomeNames some;
  ASSERT_TRUE(SaveRecordNames(FilePath(), some.file, some.names).ok());
  const std::string bytes = Slurp(FilePath());
  ASSERT_TRUE(ParseRecordNames(bytes, some.file).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(ParseRecordNames(bytes.substr(0, length), some.file).ok())
        << length;
  }
  EXPECT_FALSE(ParseRecordNames(bytes + std::string(8, 'x'), some.file).ok());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(ParseRecordNames(damaged, some.file).ok()) << bit;
  }
}

// The merge of several files relies on the order.
TEST_F(IndexFileTest, RefusesForgedNames) {
  constexpr size_t kCount = 64;
  constexpr size_t kNames = 136;
  const SomeNames some;
  ASSERT_TRUE(SaveRecordNames(FilePath(), some.file, some.names).ok());
  const std::string bytes = Slurp(FilePath());
  const auto refusal = [&](size_t at, uint64_t value) {
    const absl::Status status =
        ParseRecordNames(Forged(bytes, at, value, kNames), some.file).status();
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(kNames + 8, 78), "");
  EXPECT_THAT(refusal(kNames + 8, 3), HasSubstr("not in order"));
  EXPECT_THAT(refusal(kNames + 8, 2), HasSubstr("not in order"));
  EXPECT_THAT(refusal(kNames, 78), HasSubstr("not in order"));
  for (const uint64_t count : {uint64_t{3}, uint64_t{5}, ~uint64_t{0}}) {
    EXPECT_THAT(refusal(kCount, count), HasSubstr("not as long"));
  }
  EXPECT_THAT(refusal(kNames - 8, ~uint64_t{0}), HasSubstr("does not end"));
}

}  // namespace
}  // namespace shufflefs
