// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/thrift_compact.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/thrift_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using namespace testing_support;  // NOLINT: the numbers of the types

absl::Status Damaged(uint64_t at) {
  return absl::DataLossError(
      absl::StrCat("its metadata is invalid at byte ", at));
}

struct Walked {
  absl::Status status;
  size_t end = 0;
  std::vector<std::pair<int, std::string>> fields;
};

Walked Walk(const std::string& bytes, uint64_t offset = 0) {
  // A copy without a byte behind it, so that a sanitizer sees a look there.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const ThriftCompact thrift({exact.data(), exact.size()}, offset);
  Walked walked;
  const auto end = thrift.VisitFields(0, [&](int id, const ThriftValue& value) {
    EXPECT_LE(value.begin, value.end);
    EXPECT_LE(value.end, bytes.size());
    walked.fields.emplace_back(
        id, bytes.substr(value.begin, value.end - value.begin));
    return absl::OkStatus();
  });
  walked.status = end.status();
  walked.end = end.value_or(0);
  return walked;
}

// One of every type.
ThriftStruct Everything() {
  ThriftStruct all;
  all.Bool(1, true)
      .Bool(2, false)
      .Field(3, kWireByte, "\xFF")
      .I16(4, -3)
      .I32(5, 300)
      .I64(6, INT64_MIN)
      .Field(7, kWireDouble, "12345678")
      .Binary(8, "some text")
      .List(9, kWireI32, {"\x01", "\x02", "\x03"})
      .Field(10, kWireSet, ThriftList(kWireBinary, {ThriftBinary("in a set")}))
      .Field(11, kWireMap,
             ThriftVarint(2) + char(kWireBinary << 4 | kWireTrue) +
                 ThriftBinary("a") + "\x01" + ThriftBinary("b") + "\x02")
      .Field(12, kWireMap, std::string(1, '\0'))
      .Struct(13, ThriftStruct().I32(1, 5).Struct(9, ThriftStruct()))
      .Field(14, kWireUuid, std::string(16, 'u'))
      .List(100, kWireTrue, std::vector<std::string>(20, "\x01"));
  return all;
}

TEST(ThriftCompactTest, WalksOverEveryType) {
  const std::string bytes = Everything().Bytes();
  const Walked walked = Walk(bytes + "behind");
  ASSERT_EQ(walked.status, absl::OkStatus());
  EXPECT_EQ(walked.end, bytes.size());
  ASSERT_EQ(walked.fields.size(), 15u);
  EXPECT_THAT(walked.fields[0], Pair(1, ""));
  EXPECT_THAT(walked.fields[3], Pair(4, "\x05"));
  EXPECT_THAT(walked.fields[4], Pair(5, "\xD8\x04"));
  EXPECT_THAT(walked.fields[7], Pair(8, "\x09some text"));
  EXPECT_THAT(walked.fields[8], Pair(9, "\x35\x01\x02\x03"));
  EXPECT_THAT(walked.fields[11], Pair(12, std::string(1, '\0')));
  EXPECT_THAT(walked.fields[14],
              Pair(100, "\xF1\x14" + std::string(20, '\x01')));
}

TEST(ThriftCompactTest, ReadsNumbersAndBinaries) {
  for (const int64_t number :
       {int64_t{0}, int64_t{-1}, int64_t{63}, int64_t{64}, int64_t{-65},
        int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    const std::string bytes = ThriftStruct().I64(1, number).Bytes();
    const ThriftCompact thrift(bytes, 0);
    const ThriftValue value = {ThriftType::kI64, 1, bytes.size() - 1};
    EXPECT_EQ(*thrift.Integer(value, ThriftType::kI64), number);
    EXPECT_EQ(thrift.Integer(value, ThriftType::kI32).status(), Damaged(1));
    EXPECT_EQ(ThriftIntegerBytes(number), bytes.size() - 2);
    std::string written;
    AppendThriftInteger(number, written);
    EXPECT_EQ(written, ThriftZigZag(number));
  }
  const std::string bytes = ThriftBinary("text") + "behind";
  const ThriftCompact thrift(bytes, 0);
  EXPECT_EQ(*thrift.Binary({ThriftType::kBinary, 0, 5}), "text");
  EXPECT_EQ(thrift.Binary({ThriftType::kList, 0, 5}).status(), Damaged(0));
}

TEST(ThriftCompactTest, ElementsFollowEachOther) {
  const std::string bytes = ThriftList(
      kWireStruct, std::vector<std::string>(16, Everything().Bytes()));
  const ThriftCompact thrift(bytes, 0);
  const ThriftValue list = {ThriftType::kList, 0, bytes.size()};
  size_t at = 2;
  int count = 0;
  ASSERT_EQ(thrift.VisitElements(list, ThriftType::kStruct,
                                 [&](const ThriftValue& value) {
                                   EXPECT_EQ(value.begin, at);
                                   at = value.end;
                                   ++count;
                                   return absl::OkStatus();
                                 }),
            absl::OkStatus());
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(count, 16);
  const auto none = [](const ThriftValue&) { return absl::OkStatus(); };
  EXPECT_EQ(thrift.VisitElements(list, ThriftType::kI32, none), Damaged(0));
  EXPECT_EQ(thrift.VisitElements({ThriftType::kSet, 0, bytes.size()},
                                 ThriftType::kStruct, none),
            Damaged(0));
}

TEST(ThriftCompactTest, AnErrorOfTheVisitorEndsTheWalk) {
  const std::string bytes = Everything().Bytes();
  int visits = 0;
  const auto end = ThriftCompact(bytes, 0).VisitFields(
      0, [&](int, const ThriftValue&) -> absl::Status {
        return ++visits < 3 ? absl::OkStatus() : absl::AbortedError("enough");
      });
  EXPECT_EQ(end.status(), absl::AbortedError("enough"));
  EXPECT_EQ(visits, 3);
}

TEST(ThriftCompactTest, IdsAscend) {
  const std::string zero(1, '\0');
  EXPECT_THAT(Walk(ThriftStruct()
                       .Field(3, kWireTrue, "", true)
                       .Field(32767, kWireTrue, "", true)
                       .Bytes())
                  .fields,
              ElementsAre(Pair(3, ""), Pair(32767, "")));
  EXPECT_EQ(Walk(ThriftStruct().Bool(3, true).Bool(3, true).Bytes()).status,
            Damaged(1));
  EXPECT_EQ(Walk(ThriftStruct().Bool(3, true).Bool(2, true).Bytes()).status,
            Damaged(1));
  EXPECT_EQ(Walk(ThriftStruct().Bool(-3, true).Bytes()).status, Damaged(0));
  EXPECT_EQ(Walk(ThriftStruct().Bool(32768, true).Bytes()).status, Damaged(0));
}

TEST(ThriftCompactTest, SaysWhereItMakesNoSense) {
  EXPECT_EQ(Walk("", 70).status, Damaged(70));
  EXPECT_EQ(Walk("\x1E", 70).status, Damaged(70));  // no such type
  EXPECT_EQ(Walk("\x10", 70).status, Damaged(70));
  EXPECT_EQ(Walk("\x15" + std::string(10, '\x80'), 70).status, Damaged(71));
  EXPECT_EQ(Walk("\x15" + std::string(9, '\xFF') + "\x02", 70).status,
            Damaged(71));
  EXPECT_EQ(Walk("\x18\x05text", 70).status, Damaged(72));
  EXPECT_EQ(Walk("\x19\xF5\xFF\xFF\xFF\xFF\x0F", 70).status, Damaged(71));
  EXPECT_EQ(Walk(std::string("\x19\x10\0\0", 4), 70).status, Damaged(71));
  EXPECT_EQ(Walk("\x1B\x02\x55\x01\x01\x01", 70).status, Damaged(71));
}

TEST(ThriftCompactTest, DepthHasALimit) {
  ThriftStruct in;
  for (int i = 0; i < ThriftCompact::kMaxDepth; ++i) {
    in = ThriftStruct().Struct(1, in);
  }
  EXPECT_EQ(Walk(in.Bytes()).status, absl::OkStatus());
  in = ThriftStruct().Struct(1, in);
  EXPECT_EQ(Walk(in.Bytes()).status, Damaged(ThriftCompact::kMaxDepth + 1));
  EXPECT_EQ(Walk(std::string(1 << 20, '\x1C')).status,
            Damaged(ThriftCompact::kMaxDepth + 1));
  EXPECT_EQ(Walk("\x19" + std::string(1 << 20, '\x19')).status,
            Damaged(ThriftCompact::kMaxDepth + 1));
}

TEST(ThriftCompactTest, EveryTruncationIsDamage) {
  const std::string bytes = Everything().Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Walked walked = Walk(bytes.substr(0, size));
    EXPECT_EQ(walked.status.code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(ThriftCompactTest, AnyBytesEndTheWalkInsideThem) {
  const std::string bytes = Everything().Bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(byte);
      const Walked walked = Walk(changed);
      if (walked.status.ok()) {
        EXPECT_LE(walked.end, bytes.size());
      } else {
        EXPECT_EQ(walked.status.code(), absl::StatusCode::kDataLoss);
      }
    }
  }
}

}  // namespace
}  // namespace shufflefs
