// SPDX-License-Identifier: Apache-2.0
// Containers whose records have one size, and the headers that say so: idx.
#include "core/formats/fixed_shape.h"

#include <string>
#include <vector>

#include "core/formats/idx_header.h"
#include "gtest/gtest.h"
#include "tests/core/formats/shape_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ExpectShape;
using testing_support::Refused;

TEST(PlainShape, CountsWholeRecords) {
  ExpectShape(PlainShape(30730000, 0, 3073), 0, 3073, 10000);  // CIFAR-10
  ExpectShape(PlainShape(107, 7, 10), 7, 10, 10);
  ExpectShape(PlainShape(7, 7, 10), 7, 10, 0);
  ExpectShape(PlainShape(0, 0, 10), 0, 10, 0);
  ExpectShape(PlainShape(~uint64_t{0}, 0, 1), 0, 1, ~uint64_t{0});
}

TEST(PlainShape, NamesTheBytesLeftOver) {
  EXPECT_EQ(PlainShape(109, 7, 10).status(),
            Refused("2 bytes are left over after the last record of 10"));
  EXPECT_EQ(PlainShape(9, 0, 10).status(),
            Refused("9 bytes are left over after the last record of 10"));
  EXPECT_EQ(PlainShape(6, 7, 10).status(),
            Refused("it has 6 bytes, fewer than its header of 7"));
  EXPECT_EQ(PlainShape(10, 0, 0).status(),
            Refused("its records have no bytes"));
}

TEST(DeclaredShape, IsNotDeceivedByOverflow) {
  constexpr uint64_t kHalf = uint64_t{1} << 32;
  EXPECT_EQ(DeclaredShape(0, {0, kHalf, kHalf}).status(),
            Refused("its header says 4294967296 records of 4294967296 bytes, "
                    "but 0 bytes follow it"));
  ExpectShape(DeclaredShape(kHalf * 16 + 5, {5, 16, kHalf}), 5, 16, kHalf);
}

// The header of an idx file.
std::string Idx(char type, const std::vector<uint32_t>& dimensions) {
  std::string head = {0, 0, type, static_cast<char>(dimensions.size())};
  for (const uint32_t dimension : dimensions) {
    for (const int shift : {24, 16, 8, 0}) {
      head += static_cast<char>(dimension >> shift & 0xFF);
    }
  }
  return head;
}

TEST(IdxHeader, TheFilesOfMnist) {
  ExpectShape(ParseIdxHeader(Idx(8, {60000, 28, 28}) + "pixels", 47040016), 16,
              784, 60000);
  ExpectShape(ParseIdxHeader(Idx(8, {60000}), 60008), 8, 1, 60000);
}

TEST(IdxHeader, EveryElementType) {
  const struct {
    char type;
    uint64_t bytes;
  } cases[] = {{0x08, 1}, {0x09, 1}, {0x0B, 2},
               {0x0C, 4}, {0x0D, 4}, {0x0E, 8}};
  for (const auto& [type, bytes] : cases) {
    ExpectShape(ParseIdxHeader(Idx(type, {5, 3}), 12 + 15 * bytes), 12,
                3 * bytes, 5);
  }
  for (const char type : {0x00, 0x07, 0x0A, 0x0F, 0x7F}) {
    EXPECT_EQ(ParseIdxHeader(Idx(type, {5, 3}), 27).status(),
              Refused("not an idx file"));
  }
}

TEST(IdxHeader, MoreThanTwoToThe31Records) {
  constexpr uint32_t kMany = 4000000000;
  ExpectShape(
      ParseIdxHeader(Idx(8, {kMany, 1000}), 12 + kMany * uint64_t{1000}), 12,
      1000, kMany);
  ExpectShape(ParseIdxHeader(Idx(14, {kMany}), 8 + kMany * uint64_t{8}), 8, 8,
              kMany);
}

TEST(IdxHeader, SizesThatDoNotAgree) {
  const std::string head = Idx(8, {10, 4});
  for (const uint64_t bytes :
       {uint64_t{51}, uint64_t{53}, uint64_t{12}, ~uint64_t{0}}) {
    EXPECT_EQ(ParseIdxHeader(head, bytes).status().code(),
              absl::StatusCode::kFailedPrecondition)
        << bytes;
  }
  EXPECT_EQ(ParseIdxHeader(head, 51).status(),
            Refused("its header says 10 records of 4 bytes, but 39 bytes "
                    "follow it"));
  // An array of nothing, 0 records, is as empty as its file.
  ExpectShape(ParseIdxHeader(Idx(8, {0, 4}), 12), 12, 4, 0);
}

TEST(IdxHeader, HostileOnes) {
  EXPECT_EQ(ParseIdxHeader("", 0).status(), Refused("not an idx file"));
  EXPECT_EQ(ParseIdxHeader(std::string("\0\0\x08", 3), 3).status(),
            Refused("not an idx file"));
  EXPECT_EQ(ParseIdxHeader(std::string("\0\1\x08\1\0\0\0\1x", 9), 9).status(),
            Refused("not an idx file"));
  EXPECT_EQ(ParseIdxHeader(Idx(8, {}), 4).status(),
            Refused("an idx file of no dimensions"));
  EXPECT_EQ(ParseIdxHeader(Idx(8, {5, 0}), 12).status(),
            Refused("its records have no bytes"));
  EXPECT_EQ(ParseIdxHeader(Idx(8, {5, 3}).substr(0, 11), 11).status(),
            Refused("it ends inside its idx header"));
  const uint32_t most = ~uint32_t{0};
  EXPECT_EQ(ParseIdxHeader(Idx(14, {most, most, most}), 16).status(),
            Refused("by its idx header, records have more than 2^64 bytes"));
  // Dimensions whose product is 0 in 64 bits.
  EXPECT_EQ(ParseIdxHeader(Idx(8, {1, 1u << 31, 1u << 31, 4}), 20).status(),
            Refused("by its idx header, records have more than 2^64 bytes"));
  EXPECT_EQ(
      ParseIdxHeader(Idx(8, std::vector<uint32_t>(255, 1)), 1025).value().count,
      1u);
}

}  // namespace
}  // namespace shufflefs
