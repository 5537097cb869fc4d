// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/arrow_stream.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/arrow_fixture.h"
#include "tests/core/formats/scanner_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::ArrowEnd;
using testing_support::ArrowFramed;
using testing_support::ArrowMessage;
using testing_support::ArrowMetadata;
using testing_support::kArrowBatch;
using testing_support::kArrowDictionary;
using testing_support::kArrowSchema;
using testing_support::kArrowTensor;
using testing_support::kMessageBodyAt;
using testing_support::PutNumber;
using testing_support::ScanEveryWay;
using testing_support::Scanned;

Scanned Scan(const std::string& file) {
  return ScanEveryWay([&] { return MakeArrowStreamScanner(file.size()); },
                      file);
}

absl::Status Refused(uint64_t at, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the message at byte ", at, ": ", why));
}

absl::Status Damaged(uint64_t at, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("the message at byte ", at, ": ", why));
}

std::string Schema() { return ArrowMessage(kArrowSchema); }
std::string Dictionary() {
  return ArrowMessage(kArrowDictionary, std::string(16, 'd'));
}
std::string Batch(size_t body_bytes) {
  return ArrowMessage(kArrowBatch, std::string(body_bytes, 'b'));
}

TEST(ArrowStreamTest, FindsTheBatches) {
  const std::string head = Schema() + Dictionary() + Dictionary();
  const std::string file = head + Batch(0) + Batch(80) + Batch(8) + ArrowEnd();
  const Scanned scanned = Scan(file);
  ASSERT_EQ(scanned.status, absl::OkStatus());
  EXPECT_EQ(scanned.begin, head.size());
  EXPECT_THAT(scanned.Records(file),
              ElementsAre(Batch(0), Batch(80), Batch(8)));
  EXPECT_EQ(scanned.end(), file.size() - 8);
}

// Three batches, of one, two and three 64-bit numbers.
TEST(ArrowStreamTest, ReadsWhatPyarrowWrote) {
  std::string file;
  ASSERT_TRUE(absl::Base64Unescape(
      "/////3gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAA"
      "EAAAAUAAAAEAAUAAgABgAHAAwAAAAQABAAAAAAAAECEAAAABwAAAAEAAAAAAAAAAEAAAB4"
      "AAAACAAMAAgABwAIAAAAAAAAAUAAAAD/////iAAAABQAAAAAAAAADAAWAAYABQAIAAwADA"
      "AAAAADBAAYAAAACAAAAAAAAAAAAAoAGAAMAAQACAAKAAAAPAAAABAAAAABAAAAAAAAAAAA"
      "AAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAAAAAAAAAAAAAAAQAAAAEAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAP////+IAAAAFAAAAAAAAAAMABYABgAFAAgADAAMAAAAAAME"
      "ABgAAAAQAAAAAAAAAAAACgAYAAwABAAIAAoAAAA8AAAAEAAAAAIAAAAAAAAAAAAAAAIAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAABAAAAAgAAAAAAAAAAAAAA"
      "AAAAAAEAAAAAAAAAAQAAAAAAAAD/////iAAAABQAAAAAAAAADAAWAAYABQAIAAwADAAAAA"
      "ADBAAYAAAAGAAAAAAAAAAAAAoAGAAMAAQACAAKAAAAPAAAABAAAAADAAAAAAAAAAAAAAAC"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGAAAAAAAAAAAAAAAAQAAAAMAAAAAAAAAAA"
      "AAAAAAAAACAAAAAAAAAAIAAAAAAAAAAgAAAAAAAAD/////AAAAAA==",
      &file));
  ASSERT_EQ(file.size(), 616u);
  const Scanned scanned = Scan(file);
  ASSERT_EQ(scanned.status, absl::OkStatus());
  EXPECT_EQ(scanned.begin, 128u);
  EXPECT_THAT(scanned.sizes, ElementsAre(152, 160, 168));
  EXPECT_TRUE(LooksLikeArrowStream(file.substr(0, kArrowStreamHeadBytes)));
}

TEST(ArrowStreamTest, StreamsWithoutBatches) {
  for (const std::string& file :
       {std::string(), Schema(), Schema() + ArrowEnd(),
        Schema() + Dictionary() + ArrowEnd()}) {
    const Scanned scanned = Scan(file);
    EXPECT_EQ(scanned.status, absl::OkStatus());
    EXPECT_EQ(scanned.begin, absl::nullopt);
    EXPECT_THAT(scanned.sizes, IsEmpty());
  }
}

TEST(ArrowStreamTest, EveryWayToEnd) {
  const std::string zero(4, '\0');
  for (const std::string& end :
       {std::string(), ArrowEnd(), zero, ArrowEnd() + "anything",
        ArrowEnd() + Schema() + Batch(8)}) {
    const Scanned scanned = Scan(Schema() + Batch(8) + Batch(16) + end);
    EXPECT_EQ(scanned.status, absl::OkStatus());
    EXPECT_THAT(scanned.sizes, ElementsAre(64, 72));
  }
}

TEST(ArrowStreamTest, MessagesThatMayNotBeThere) {
  const uint64_t at = Schema().size() + Batch(8).size();
  const auto after = [](const std::string& message) {
    return Scan(Schema() + Batch(8) + message + Batch(8) + ArrowEnd()).status;
  };
  EXPECT_EQ(after(Dictionary()),
            Refused(at, "a dictionary after a record batch"));
  EXPECT_EQ(after(Schema()), Refused(at, "a second schema"));
  EXPECT_EQ(after(ArrowMessage(kArrowTensor)),
            Refused(at, "a message of type 4"));
  EXPECT_EQ(after(ArrowMessage(0)), Refused(at, "a message of type 0"));
  EXPECT_EQ(after(Batch(12)),
            Refused(at, "68 bytes, which is not a multiple of 8"));
  EXPECT_EQ(after(ArrowFramed(ArrowMetadata(kArrowBatch, 0) + "four")),
            Refused(at, "60 bytes, which is not a multiple of 8"));
  EXPECT_EQ(Scan(Batch(8) + ArrowEnd()).status,
            Refused(0, "no schema comes before it"));
}

TEST(ArrowStreamTest, FilesThatAreNoStreams) {
  const absl::Status older = absl::FailedPreconditionError(
      "it does not begin as a stream of Arrow 0.15 or later");
  EXPECT_EQ(Scan(Schema().substr(4)).status, older);
  EXPECT_EQ(Scan(std::string("ARROW1\0\0", 8) + Schema()).status, older);
  EXPECT_EQ(Scan(std::string(16, '\0')).status, older);
  EXPECT_EQ(Scan(ArrowEnd()).status, absl::DataLossError("it has no schema"));
  EXPECT_EQ(Scan(Schema() + Batch(8) + "gibberish").status,
            absl::DataLossError("no message begins at byte 120"));
}

TEST(ArrowStreamTest, SizesThatRunOverTheEnd) {
  const uint64_t at = Schema().size();
  for (const int64_t body : {int64_t{9}, int64_t{-8}, INT64_MAX, INT64_MIN}) {
    std::string batch = Batch(8);
    PutNumber<int64_t>(batch, 8 + kMessageBodyAt, body);
    EXPECT_EQ(
        Scan(Schema() + batch).status,
        Damaged(at, absl::StrCat("a body of ", body,
                                 " bytes, which go past the end of the file")));
  }
  for (const uint32_t bytes : {57U, 0x7FFFFFFFU, ~0U}) {
    std::string batch = Batch(8);
    PutNumber<uint32_t>(batch, 4, bytes);
    EXPECT_EQ(
        Scan(Schema() + batch).status,
        Damaged(at,
                absl::StrCat(
                    bytes,
                    " bytes of metadata, which go past the end of the file")));
  }
}

// The size of the file is all that makes this a message.
TEST(ArrowStreamTest, MetadataThatIsNotHeldInMemory) {
  std::string head = Schema() + Batch(8);
  PutNumber<uint32_t>(head, Schema().size() + 4, (64 << 20) + 8);
  Scanned scanned;
  testing_support::RecordingSink sink(scanned);
  EXPECT_EQ(MakeArrowStreamScanner(uint64_t{1} << 40)->Feed(head, sink),
            Refused(Schema().size(), "67108872 bytes of metadata"));
}

TEST(ArrowStreamTest, EveryTruncationIsNamed) {
  const std::string file = Schema() + Dictionary() + Batch(24) + ArrowEnd();
  for (size_t size = 1; size < file.size(); ++size) {
    const Scanned scanned = Scan(file.substr(0, size));
    if (size == 56 || size == 128 || size == 208) {
      EXPECT_EQ(scanned.status, absl::OkStatus()) << size;
    } else {
      EXPECT_EQ(scanned.status.code(), absl::StatusCode::kDataLoss) << size;
    }
  }
  EXPECT_EQ(Scan(file.substr(0, 131)).status,
            absl::DataLossError("it ends inside the message at byte 128"));
  EXPECT_EQ(Scan(file.substr(0, 135)).status,
            absl::DataLossError("it ends inside the message at byte 128"));
}

TEST(ArrowStreamTest, FilesThatChangeWhileTheyAreRead) {
  const std::string file = Schema() + Batch(8) + ArrowEnd();
  const auto scan = [&file](uint64_t file_bytes) {
    return ScanEveryWay([&] { return MakeArrowStreamScanner(file_bytes); },
                        file)
        .status;
  };
  EXPECT_EQ(scan(127), absl::DataLossError("it has more than its 127 bytes"));
  const std::string open = Schema() + Batch(8);
  EXPECT_EQ(ScanEveryWay(
                [&] { return MakeArrowStreamScanner(open.size() + 1); }, open)
                .status,
            absl::DataLossError("it has 120 bytes, not its 121"));
}

TEST(ArrowStreamTest, WhatLiesBehindTheEndIsNotRead) {
  const std::string file = Schema() + Batch(8) + ArrowEnd();
  constexpr uint64_t kHole = uint64_t{16} << 40;
  const auto scanner = MakeArrowStreamScanner(file.size() + kHole);
  Scanned scanned;
  testing_support::RecordingSink sink(scanned);
  ASSERT_EQ(scanner->Feed(file, sink), absl::OkStatus());
  ASSERT_EQ(scanner->unread(), kHole);
  scanner->Skip(kHole);
  EXPECT_EQ(scanner->Finish(sink), absl::OkStatus());
  EXPECT_EQ(scanned.end(), file.size() - ArrowEnd().size());
}

// Each byte of the heads in turn takes every value. The file is not fed in
// every way: this is about bytes.
TEST(ArrowStreamTest, AnyByteAtAnyPlace) {
  const std::string file = Schema() + Batch(0) + Batch(8) + ArrowEnd();
  int accepted = 0;
  for (size_t at = 0; at < file.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = file;
      changed[at] = static_cast<char>(byte);
      const Scanned scanned = testing_support::ScanInPieces(
          *MakeArrowStreamScanner(file.size()), changed,
          [](size_t left) { return left; });
      if (scanned.status.ok()) {
        ++accepted;
        ASSERT_LE(scanned.end(), file.size());
      } else {
        ASSERT_TRUE(absl::IsDataLoss(scanned.status) ||
                    absl::IsFailedPrecondition(scanned.status))
            << scanned.status;
      }
    }
  }
  EXPECT_GT(accepted, 5000);
}

TEST(ArrowStreamTest, KnowsTheFormatByItsFirstBytes) {
  EXPECT_TRUE(LooksLikeArrowStream(Schema()));
  EXPECT_TRUE(LooksLikeArrowStream(Schema() + Batch(8)));
  EXPECT_FALSE(LooksLikeArrowStream(Batch(8)));
  EXPECT_FALSE(LooksLikeArrowStream(Schema().substr(0, 40)));
  EXPECT_FALSE(LooksLikeArrowStream(ArrowEnd()));
  EXPECT_FALSE(LooksLikeArrowStream(""));
  EXPECT_FALSE(LooksLikeArrowStream({"ARROW1\0\0", 8}));
}

}  // namespace
}  // namespace shufflefs
