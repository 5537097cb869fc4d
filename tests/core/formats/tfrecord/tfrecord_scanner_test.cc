// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_scanner.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/records/index/offset_table_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/record_list.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::LittleEndian;
using testing_support::RecordList;
using testing_support::ScanInPieces;
using testing_support::ScanWhole;
using testing_support::Tfrecord;
using testing_support::Tfrecords;

absl::Status Scan(const std::string& file, RecordList& found) {
  return ScanWhole(*MakeTfrecordScanner(file.size()), file, found);
}

// What is wrong with the file, which is damaged in every way of reading it.
std::string Damage(const std::string& file) {
  RecordList whole;
  const absl::Status status = Scan(file, whole);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  RecordList by_byte;
  EXPECT_EQ(
      ScanInPieces(
          *MakeTfrecordScanner(file.size()), file, [] { return 1; }, by_byte),
      status);
  EXPECT_EQ(by_byte.sizes, whole.sizes);
  return std::string(status.message());
}

TEST(TfrecordScannerTest, FindsWholeFrames) {
  RecordList found;
  ASSERT_TRUE(Scan(Tfrecords({"one", "", "three"}), found).ok());
  EXPECT_EQ(found.first, 0u);
  EXPECT_THAT(found.sizes, ElementsAre(19, 16, 21));
}

// A file that TensorFlow wrote: a version and one scalar.
TEST(TfrecordScannerTest, ReadsWhatTensorFlowWrote) {
  const absl::string_view file(
      "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22"
      "\x09\0\0\x80\x38\x99\xd6\xd7\x41\x1a\x0d"
      "brain.Event:2"
      "\x12\x4b\x36\xab"
      "\x32\0\0\0\0\0\0\0\x24\x19\x56\xec"
      "\x09\xc4\x05\xb7\x3d\x99\xd6\xd7\x41\x10\x4d\x2a\x25\x0a\x23\x0a\x08"
      "accuracy"
      "\x42\x0a\x08\x01\x12\0\x22\x04\xa4\x70\x7d\x3f\x4a\x0b\x0a\x09\x0a\x07"
      "scalars"
      "\xa5\x5b\x64\x33",
      40 + 66);
  RecordList found;
  ASSERT_TRUE(Scan(std::string(file), found).ok());
  EXPECT_THAT(found.sizes, ElementsAre(40, 66));
  EXPECT_TRUE(LooksLikeTfrecord(file));
  EXPECT_EQ(Tfrecord(file.substr(12, 24)), file.substr(0, 40));
}

TEST(TfrecordScannerTest, AnEmptyFileHasNoRecords) {
  RecordList found;
  EXPECT_TRUE(Scan("", found).ok());
  EXPECT_FALSE(found.begun);
}

TEST(TfrecordScannerTest, AnyPiecesFindTheSame) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> data(rng() % 40);
    std::vector<uint64_t> sizes;
    for (std::string& one : data) {
      one.resize(rng() % (rng() % 8 == 0 ? 5000 : 40));
      for (char& byte : one) byte = static_cast<char>(rng());
      sizes.push_back(16 + one.size());
    }
    const std::string file = Tfrecords(data);
    const uint64_t most = 1 + rng() % 300;
    RecordList found;
    ASSERT_TRUE(ScanInPieces(
                    *MakeTfrecordScanner(file.size()), file,
                    [&] { return 1 + rng() % most; }, found)
                    .ok());
    ASSERT_EQ(found.sizes, sizes);
  }
}

// A record is told as soon as its last byte was seen, not later.
TEST(TfrecordScannerTest, TellsOfARecordAtItsLastByte) {
  const std::string file = Tfrecords({"one", "two"});
  const auto scanner = MakeTfrecordScanner(file.size());
  RecordList found;
  ASSERT_TRUE(scanner->Feed(file.substr(0, 18), found).ok());
  EXPECT_THAT(found.sizes, IsEmpty());
  ASSERT_TRUE(scanner->Feed(file.substr(18, 1), found).ok());
  EXPECT_THAT(found.sizes, ElementsAre(19));
  ASSERT_TRUE(scanner->Feed(file.substr(19), found).ok());
  EXPECT_THAT(found.sizes, ElementsAre(19, 19));
  EXPECT_TRUE(scanner->Finish(found).ok());
}

TEST(TfrecordScannerTest, SaysWhichChecksumDiffers) {
  const std::string good = Tfrecords({"one", "two"});
  std::string length = good;
  length[19 + 8] = static_cast<char>(~length[19 + 8]);
  EXPECT_THAT(Damage(length),
              HasSubstr("the checksum of the length of the record at byte 19"));
  std::string data = good;
  data[19 + 12] = 'T';
  EXPECT_EQ(
      Damage(data),
      absl::StrCat("the checksum of the data of the record at byte 19 is ",
                   absl::Hex(MaskedCrc32c("two"), absl::kZeroPad8),
                   " in the file, but should be ",
                   absl::Hex(MaskedCrc32c("Two"), absl::kZeroPad8)));
}

TEST(TfrecordScannerTest, EveryBitIsCovered) {
  const std::string good = Tfrecords({"one", "two"});
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string damaged = good;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_THAT(Damage(damaged), HasSubstr("checksum")) << bit;
  }
}

TEST(TfrecordScannerTest, EveryTruncationIsDamage) {
  const std::string good = Tfrecords({"one", "two"});
  for (size_t length = 1; length < good.size(); ++length) {
    if (length == 19) continue;  // between the records
    const std::string damage = Damage(good.substr(0, length));
    EXPECT_THAT(damage, HasSubstr(absl::StrCat("record at byte ",
                                               length < 19 ? 0 : 19)));
    EXPECT_THAT(damage, HasSubstr(absl::StrCat("at byte ", length)));
  }
}

TEST(TfrecordScannerTest, ARecordThatIsLongerThanTheFile) {
  for (const uint64_t length : {uint64_t{1} << 33, ~uint64_t{0}, uint64_t{5}}) {
    const std::string stored = LittleEndian(length);
    const std::string head = Tfrecord("one") + stored +
                             LittleEndian(MaskedCrc32c(stored)) + "datafoo";
    EXPECT_EQ(Damage(head),
              absl::StrCat("the record at byte 19 has ", length,
                           " bytes of data, beyond the end of the file at "
                           "byte 38"));
  }
}

// The file became shorter or longer than it was when its size was asked for.
TEST(TfrecordScannerTest, AFileThatChangesWhileItIsRead) {
  const std::string file = Tfrecords({"one", "two"});
  RecordList found;
  const absl::Status shorter =
      ScanWhole(*MakeTfrecordScanner(file.size() + 9), file, found);
  EXPECT_EQ(shorter.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(shorter.message()),
              HasSubstr("ends at byte 38, though it had 47 bytes"));
  RecordList fewer;
  const absl::Status longer = ScanWhole(*MakeTfrecordScanner(19), file, fewer);
  EXPECT_EQ(longer.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(longer.message()),
              HasSubstr("beyond the end of the file at byte 19"));
}

TEST(TfrecordScannerTest, KnowsTheFormatByItsFirstBytes) {
  EXPECT_TRUE(LooksLikeTfrecord(Tfrecord("one")));
  EXPECT_TRUE(LooksLikeTfrecord(Tfrecord("").substr(0, 12)));
  EXPECT_FALSE(LooksLikeTfrecord(Tfrecord("one").substr(0, 11)));
  EXPECT_FALSE(LooksLikeTfrecord(""));
  EXPECT_FALSE(LooksLikeTfrecord(std::string(64, '\0')));
  EXPECT_FALSE(LooksLikeTfrecord("\x1f\x8b\x08 a compressed one"));
}

// The two parts together: what a scan finds is where the bytes are.
TEST(TfrecordScannerTest, FillsATable) {
  std::vector<std::string> data;
  for (int i = 0; i < 1000; ++i) data.push_back(std::string(i % 97, 'x'));
  const std::string file = Tfrecords(data);
  OffsetTableBuilder builder;
  ASSERT_TRUE(ScanWhole(*MakeTfrecordScanner(file.size()), file, builder).ok());
  const auto table = builder.Finish();
  ASSERT_EQ(table->count(), data.size());
  for (uint64_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(file.substr(table->begin(i), table->bytes(i)), Tfrecord(data[i]));
  }
  EXPECT_EQ(table->begin(data.size()), file.size());
}

}  // namespace
}  // namespace shufflefs
