// SPDX-License-Identifier: Apache-2.0
// The headers of .npy files: those numpy writes, and those it would not.
#include "core/formats/npy_header.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/shape_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ExpectShape;
using testing_support::Refused;

// The bytes up to the dictionary of `length` bytes.
std::string Preamble(int major, size_t length) {
  std::string bytes("\x93NUMPY");
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  }
  return bytes;
}

// A header, filled up with spaces as numpy does.
std::string Npy(std::string dictionary, int major = 1) {
  while ((Preamble(major, 0).size() + dictionary.size() + 1) % 64 != 0) {
    dictionary += ' ';
  }
  dictionary += '\n';
  return Preamble(major, dictionary.size()) + dictionary;
}

std::string Dictionary(absl::string_view descr, absl::string_view shape,
                       absl::string_view fortran = "False") {
  return absl::StrCat("{'descr': ", descr, ", 'fortran_order': ", fortran,
                      ", 'shape': ", shape, ", }");
}

// What is said of an array with such a header and rows of `body` bytes.
absl::StatusOr<FixedShape> Parse(const std::string& dictionary, uint64_t body,
                                 int major = 1) {
  const std::string head = Npy(dictionary, major);
  return ParseNpyHeader(head + "rows", head.size() + body);
}

absl::StatusOr<FixedShape> ParseType(absl::string_view descr,
                                     uint64_t row_bytes) {
  return Parse(Dictionary(descr, "(3,)"), 3 * row_bytes);
}

TEST(NpyHeader, WhatNumpyWrites) {
  // numpy.save("x.npy", numpy.zeros((60000, 28, 28), numpy.float32))
  const std::string head =
      std::string("\x93NUMPY\x01\x00v\x00", 10) +
      "{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }" +
      std::string(49, ' ') + "\n";
  ASSERT_EQ(head.size(), 128u);
  ExpectShape(ParseNpyHeader(head, 188160128), 128, 3136, 60000);
}

TEST(NpyHeader, EveryVersion) {
  for (const int major : {1, 2, 3}) {
    ExpectShape(Parse(Dictionary("'|u1'", "(10, 7)"), 70, major), 128, 7, 10);
  }
  for (const int major : {0, 4, 255}) {
    EXPECT_EQ(Parse(Dictionary("'|u1'", "(10, 7)"), 70, major).status(),
              Refused(absl::StrCat("an npy file of version ", major, ".0")));
  }
  std::string minor = Npy(Dictionary("'|u1'", "(1,)"));
  minor[7] = 1;
  EXPECT_EQ(ParseNpyHeader(minor, minor.size() + 1).status(),
            Refused("an npy file of version 1.1"));
}

TEST(NpyHeader, KeysInAnyOrderAndSpaces) {
  ExpectShape(
      Parse("{\"shape\":(2,3),'descr':\"<i8\",'fortran_order':False}", 48), 64,
      24, 2);
  ExpectShape(Parse("{ 'shape' : ( 2 , 3 , ) , 'fortran_order' : False , "
                    "'descr' : '<i8' , }",
                    48),
              128, 24, 2);
  ExpectShape(Parse(Dictionary("'<i8'", "(2L, 3L)"), 48), 128, 24, 2);
}

TEST(NpyHeader, ElementTypes) {
  const struct {
    const char* type;
    uint64_t bytes;
  } cases[] = {{"'|b1'", 1},     {"'|i1'", 1},       {"'<u2'", 2},
               {"'>f8'", 8},     {"'<f16'", 16},     {"'<c16'", 16},
               {"'|S5'", 5},     {"'<U5'", 20},      {"'|V12'", 12},
               {"'<M8[ns]'", 8}, {"'<m8[25us]'", 8}, {"'<M8'", 8},
               {"'=i4'", 4}};
  for (const auto& [type, bytes] : cases) {
    SCOPED_TRACE(type);
    const absl::StatusOr<FixedShape> shape = ParseType(type, bytes);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(shape->record_bytes, bytes);
  }
  for (const char* type :
       {"''", "'<'", "'<f'", "'f4'", "'<x4'", "'<f-4'", "'<f+4'", "'<f 4'",
        "'<f4x'", "'<f4[ns]'", "'<f4294967296'", "'<M8[ns'", "'float64'"}) {
    EXPECT_EQ(ParseType(type, 4).status(),
              Refused("its npy header names an unknown element type"))
        << type;
  }
  EXPECT_EQ(ParseType("'|O'", 8).status(),
            Refused("its rows hold Python objects"));
  EXPECT_EQ(ParseType("'|O8'", 8).status(),
            Refused("its rows hold Python objects"));
  EXPECT_EQ(ParseType("'|S0'", 0).status(),
            Refused("its records have no bytes"));
}

TEST(NpyHeader, Structures) {
  const struct {
    const char* type;
    uint64_t bytes;
  } cases[] = {
      {"[('label', '|u1'), ('pixels', '|u1', (28, 28))]", 785},
      {"[('x', '<f4'), ('', '|V4'), ('y', '<f8')]", 16},
      {"[(('a title', 'x'), '<f4')]", 4},
      {"[('p', [('x', '<f4'), ('y', '<f4')], (3,)), ('n', '<i2')]", 26}};
  for (const auto& [type, bytes] : cases) {
    SCOPED_TRACE(type);
    const absl::StatusOr<FixedShape> shape = ParseType(type, bytes);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(shape->record_bytes, bytes);
  }
  EXPECT_EQ(ParseType("[('x', '<f4'), ('o', '|O')]", 12).status(),
            Refused("its rows hold Python objects"));
  EXPECT_EQ(ParseType("[]", 0).status(), Refused("its records have no bytes"));
  EXPECT_EQ(ParseType("('<f4', (3,))", 12).status(),
            Refused("its npy header names an element type that has a shape"));
  EXPECT_EQ(ParseType("[('x', '|V4', (4294967296, 4294967296))]", 0).status(),
            Refused("by its npy header, rows have more than 2^64 bytes"));
  const std::string deep = std::string(2000, '[') + "'<f4'";
  EXPECT_FALSE(ParseType(deep, 4).ok());
  std::string nested = "'<f4'";
  for (int i = 0; i < 200; ++i) nested = "[('x', " + nested + ")]";
  EXPECT_EQ(ParseType(nested, 4).status(),
            Refused("its npy header is not as numpy writes it"));
}

TEST(NpyHeader, ArraysWhoseRowsCannotMove) {
  EXPECT_EQ(
      Parse(Dictionary("'<f4'", "(3, 2)", "True"), 24).status(),
      Refused("its array is in Fortran order: a row is not in one piece"));
  EXPECT_EQ(Parse(Dictionary("'<f4'", "()"), 4).status(),
            Refused("its array has no dimensions"));
  EXPECT_EQ(Parse(Dictionary("'<f4'", "(3, 0)"), 0).status(),
            Refused("its records have no bytes"));
  ExpectShape(Parse(Dictionary("'<f4'", "(0, 3)"), 0), 128, 12, 0);
}

TEST(NpyHeader, SizesMustAgree) {
  const std::string dictionary = Dictionary("'<f4'", "(3, 2)");
  ExpectShape(Parse(dictionary, 24), 128, 8, 3);
  EXPECT_EQ(Parse(dictionary, 23).status(),
            Refused("its header says 3 records of 8 bytes, but 23 bytes "
                    "follow it"));
  EXPECT_EQ(Parse(dictionary, 25).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const std::string head = Npy(dictionary);
  EXPECT_EQ(ParseNpyHeader(head, 100).status(),
            Refused("it has 100 bytes, fewer than its header of 128"));
  ExpectShape(Parse(Dictionary("'<f4'", "(3000000000, 7)"), 84000000000), 128,
              28, 3000000000);
  EXPECT_EQ(
      Parse(Dictionary("'<f4'", "(1, 4294967296, 4294967296)"), 0).status(),
      Refused("by its npy header, rows have more than 2^64 bytes"));
  EXPECT_EQ(
      Parse(Dictionary("'<f4'", "(4611686018427387904,)"), 0).status().code(),
      absl::StatusCode::kFailedPrecondition);
}

TEST(NpyHeader, WhatNumpyDoesNotWrite) {
  const absl::Status malformed =
      Refused("its npy header is not as numpy writes it");
  const std::string good = Dictionary("'<f4'", "(3,)");
  for (const std::string& dictionary : {
           std::string(),
           std::string("{}"),
           std::string("None"),
           good + " x",
           good.substr(0, good.size() - 1),
           good.substr(1),
           Dictionary("'<f4'", "(3)"),
           Dictionary("'<f4'", "3"),
           Dictionary("'<f4'", "(3"),
           Dictionary("'<f4'", "(-3,)"),
           Dictionary("'<f4'", "(3 4)"),
           Dictionary("'<f4'", "(,)"),
           Dictionary("'<f4'", "(18446744073709551616,)"),
           Dictionary("'\\x3cf4'", "(3,)"),
           Dictionary("<f4", "(3,)"),
           Dictionary("[('x')]", "(3,)"),
           Dictionary("[('x', '<f4', 3)]", "(3,)"),
           Dictionary("'<f4'", "(3,)", "1"),
           std::string("{'descr': '<f4', 'fortran_order': False}"),
           std::string("{'descr': '<f4', 'shape': (3,)}"),
           std::string("{'fortran_order': False, 'shape': (3,)}"),
           "{'descr': '<f4', " + good.substr(1),
           "{'more': 1, " + good.substr(1),
       }) {
    EXPECT_EQ(Parse(dictionary, 12).status(), malformed) << dictionary;
  }
}

TEST(NpyHeader, EveryTruncationIsRefused) {
  const std::string head = Npy(Dictionary("'<f4'", "(3, 2)"));
  for (size_t size = 0; size < head.size(); ++size) {
    EXPECT_EQ(
        ParseNpyHeader(head.substr(0, size), size).status(),
        Refused(size < 6 ? "not an npy file" : "it ends inside its npy header"))
        << size;
  }
}

TEST(NpyHeader, LongOnes) {
  const std::string dictionary = Dictionary("'<f4'", "(3, 2)");
  const std::string longest =
      dictionary + std::string(10000 - dictionary.size(), ' ');
  const std::string head = Preamble(3, 10000) + longest;
  ASSERT_EQ(head.size(), kNpyHeadBytes);
  ExpectShape(ParseNpyHeader(head, head.size() + 24), kNpyHeadBytes, 8, 3);
  EXPECT_EQ(ParseNpyHeader(Preamble(3, 10001) + longest + " ", 20000).status(),
            Refused("its npy header has 10001 bytes"));
  EXPECT_EQ(ParseNpyHeader(Preamble(2, 0xFFFFFFFF) + longest, 20000).status(),
            Refused("its npy header has 4294967295 bytes"));
}

}  // namespace
}  // namespace shufflefs
