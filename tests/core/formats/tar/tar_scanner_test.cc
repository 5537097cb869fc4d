// SPDX-License-Identifier: Apache-2.0
// WebDataset shards: where their records lie, against a reference that knows
// how each archive was made.
#include "core/formats/tar/tar_scanner.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/scanner_fixture.h"
#include "tests/core/formats/tar/tar_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::Base256Field;
using testing_support::OctalField;
using testing_support::PaxRecord;
using testing_support::RecordingSink;
using testing_support::ScanEveryWay;
using testing_support::Scanned;
using testing_support::SealTar;
using testing_support::SetField;
using testing_support::TarEnd;
using testing_support::TarExtension;
using testing_support::TarFormat;
using testing_support::TarHeaderBlock;
using testing_support::TarMember;

constexpr TarFormat kFormats[] = {TarFormat::kUstar, TarFormat::kGnu,
                                  TarFormat::kPax};

Scanned ScanTar(const std::string& file) {
  const Scanned scanned =
      ScanEveryWay([&] { return MakeTarScanner(file.size()); }, file);
  EXPECT_EQ(scanned.status, absl::OkStatus());
  return scanned;
}

std::vector<std::string> RecordsOf(const std::string& file) {
  return ScanTar(file).Records(file);
}

TEST(TarScanner, MembersOfOneKeyAreOneRecord) {
  for (const TarFormat format : kFormats) {
    const std::string one = TarMember("d/1.jpg", "pixels", format) +
                            TarMember("d/1.seg.png", "", format) +
                            TarMember("d/1.cls", "7", format);
    const std::string two =
        TarMember("d/2.jpg", std::string(1024, 'x'), format);
    const std::string three =
        TarMember("e/2.jpg", std::string(513, 'y'), format);
    const std::string file = one + two + three + TarEnd();
    EXPECT_THAT(RecordsOf(file), ElementsAre(one, two, three));
    EXPECT_TRUE(LooksLikeTar(file));
  }
}

TEST(TarScanner, TheEndStays) {
  const std::string member = TarMember("1.jpg", "pixels");
  EXPECT_THAT(RecordsOf(member), ElementsAre(member));
  for (const std::string& end :
       {TarEnd(), std::string(512, '\0'), std::string(10240, '\0'),
        TarEnd() + "anything", TarEnd() + TarMember("1.jpg", "again"),
        std::string(600, '\0')}) {
    EXPECT_THAT(RecordsOf(member + end), ElementsAre(member));
  }
}

TEST(TarScanner, WhatLiesBehindTheEndIsNotRead) {
  const std::string member = TarMember("1.jpg", "pixels");
  const std::string file = member + TarEnd();
  constexpr uint64_t kHole = uint64_t{16} << 40;
  const auto scanner = MakeTarScanner(file.size() + kHole);
  Scanned scanned;
  RecordingSink sink(scanned);
  ASSERT_EQ(scanner->Feed(file, sink), absl::OkStatus());
  ASSERT_EQ(scanner->unread(), kHole);
  scanner->Skip(kHole);
  EXPECT_EQ(scanner->Finish(sink), absl::OkStatus());
  EXPECT_THAT(scanned.Records(file), ElementsAre(member));
}

TEST(TarScanner, ArchivesWithoutRecords) {
  for (const std::string& file :
       {std::string(), TarEnd(), TarMember("README", "text") + TarEnd(),
        TarMember("d/", "", TarFormat::kUstar, '5') + TarEnd()}) {
    EXPECT_THAT(RecordsOf(file), IsEmpty());
  }
}

TEST(TarScanner, MembersWithoutAKey) {
  const std::string dir = TarMember("d/", "", TarFormat::kPax, '5');
  const std::string old_dir = TarMember("e/", "", TarFormat::kUstar, '\0');
  const std::string readme = TarMember("d/README", "text");
  const std::string meta = TarMember("__info__/x.json", "{}");
  const std::string a = TarMember("d/1.jpg", "a");
  const std::string b = TarMember("d/1.cls", "b");
  const std::string c = TarMember("e/1.cls", "c");
  const std::string file =
      meta + dir + a + readme + b + old_dir + dir + c + old_dir + TarEnd();
  EXPECT_EQ(ScanTar(file).begin, meta.size() + dir.size());
  EXPECT_THAT(RecordsOf(file), ElementsAre(a + readme + b, old_dir + dir + c));
}

TEST(TarScanner, LongNames) {
  const std::string directory = std::string(120, 'd') + "/";
  for (const TarFormat format : kFormats) {
    // The key differs only behind what the block's own field holds.
    const std::string one = TarMember(directory + "1.jpg", "x", format) +
                            TarMember(directory + "1.cls", "x", format);
    const std::string two = TarMember(directory + "2.jpg", "x", format);
    EXPECT_THAT(RecordsOf(one + two + TarEnd()), ElementsAre(one, two));
  }
  const std::string longer = std::string(5000, 'n');
  for (const TarFormat format : {TarFormat::kGnu, TarFormat::kPax}) {
    const std::string one = TarMember(longer + "1.jpg", "x", format);
    const std::string two = TarMember(longer + "2.jpg", "x", format);
    EXPECT_THAT(RecordsOf(one + two + TarEnd()), ElementsAre(one, two));
  }
  const std::string link = TarExtension('K', std::string("target\0", 7)) +
                           TarMember(longer + "3.jpg", "x", TarFormat::kGnu);
  EXPECT_THAT(RecordsOf(link), ElementsAre(link));
}

TEST(TarScanner, NumbersInEveryForm) {
  const std::string data(700, 'x');
  for (const std::string& field :
       {OctalField(700), Base256Field(700), std::string("       1274 "),
        std::string("1274\0garbage", 12), std::string("000000001274")}) {
    std::string block = TarHeaderBlock("1.jpg", 0, '0');
    SetField(block, 124, std::string(12, '\0'));
    SetField(block, 124, field);
    SealTar(block);
    const std::string one = block + testing_support::Padded(data);
    const std::string two = TarMember("2.jpg", "x");
    EXPECT_THAT(RecordsOf(one + two), ElementsAre(one, two));
  }
  const std::string one = TarExtension('x', PaxRecord("size", "700")) +
                          TarHeaderBlock("1.jpg", 3, '0') +
                          testing_support::Padded(data);
  EXPECT_THAT(RecordsOf(one + TarEnd()), ElementsAre(one));
}

TEST(TarScanner, AChecksumOfSignedBytes) {
  std::string block = TarHeaderBlock("\xC3\xA9.jpg", 0, '0');
  SetField(block, 148, std::string(8, ' '));
  int sum = 0;
  for (const char c : block) sum += static_cast<int8_t>(c);
  SetField(block, 148, OctalField(static_cast<uint64_t>(sum)).substr(4));
  EXPECT_THAT(RecordsOf(block), ElementsAre(block));
  EXPECT_TRUE(LooksLikeTar(block));
}

// Members of 9 GiB, whose data is fed from one piece again and again.
TEST(TarScanner, MembersBeyondTheOctalField) {
  constexpr uint64_t kSize = uint64_t{9} << 30;
  std::string base256 = TarHeaderBlock("1.bin", 0, '0', true);
  SetField(base256, 124, Base256Field(kSize));
  SealTar(base256);
  const std::string pax =
      TarExtension('x', PaxRecord("size", absl::StrCat(kSize))) +
      TarHeaderBlock("2.bin", 0, '0');
  const uint64_t file_bytes =
      base256.size() + kSize + pax.size() + kSize + TarEnd().size();
  const auto scanner = MakeTarScanner(file_bytes);
  Scanned scanned;
  RecordingSink sink(scanned);
  const std::string piece(1 << 20, 'x');
  for (const std::string& header : {base256, pax}) {
    ASSERT_EQ(scanner->Feed(header, sink), absl::OkStatus());
    for (uint64_t fed = 0; fed < kSize; fed += piece.size()) {
      ASSERT_EQ(scanner->Feed(piece, sink), absl::OkStatus());
    }
  }
  ASSERT_EQ(scanner->Feed(TarEnd(), sink), absl::OkStatus());
  ASSERT_EQ(scanner->Finish(sink), absl::OkStatus());
  EXPECT_EQ(scanned.begin, 0u);
  EXPECT_THAT(scanned.sizes, ElementsAre(512 + kSize, pax.size() + kSize));
}

// A record with the number `key`: one to three members, in front of each, now
// and then, one without a key.
std::string RandomRecord(std::mt19937& random, int key) {
  const std::string name = absl::StrCat(std::string(random() % 130, 'd'), "/",
                                        std::string(40, 'e'), "/", key);
  std::string record;
  for (auto m = random() % 3 + 1; m > 0; --m) {
    const TarFormat format = kFormats[random() % 3];
    if (random() % 4 == 0) record += TarMember("dir/", "", format, '5');
    record += TarMember(absl::StrCat(name, ".", m),
                        std::string(random() % 2000, 'x'), format);
  }
  return record;
}

TEST(TarScanner, AgreesWithTheReference) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int run = 0; run < 20; ++run) {
    const std::string first = TarMember("0.jpg", "x");
    std::vector<std::string> records = {first};
    std::string file = first;
    for (auto count = random() % 30; count > 0; --count) {
      records.push_back(RandomRecord(random, static_cast<int>(count)));
      file += records.back();
    }
    file += TarMember("dir/", "", TarFormat::kPax, '5') + TarEnd();
    EXPECT_EQ(RecordsOf(file), records);
  }
}

TEST(TarScanner, OtherFilesDoNotLookLikeTar) {
  EXPECT_FALSE(LooksLikeTar(""));
  EXPECT_FALSE(LooksLikeTar(TarEnd()));
  EXPECT_FALSE(LooksLikeTar(TarHeaderBlock("1.jpg", 0, '0').substr(0, 511)));
  EXPECT_FALSE(LooksLikeTar(std::string(512, 'x')));
  std::string block = TarHeaderBlock("1.jpg", 0, '0');
  block[3] = 'b';
  EXPECT_FALSE(LooksLikeTar(block));
}

}  // namespace
}  // namespace shufflefs
