// SPDX-License-Identifier: Apache-2.0
// Lines as records, against a reference that looks at one byte at a time.
#include "core/formats/lines_scanner.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/scanner_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::ScanEveryWay;
using testing_support::ScanInPieces;
using testing_support::Scanned;

Scanned ScanLines(const std::string& file, const LinesOptions& options = {}) {
  return ScanEveryWay([&] { return MakeLinesScanner(options); }, file);
}

std::vector<std::string> RecordsOf(const std::string& file,
                                   const LinesOptions& options = {}) {
  const Scanned scanned = ScanLines(file, options);
  EXPECT_EQ(scanned.status, absl::OkStatus());
  return scanned.Records(file);
}

constexpr LinesOptions kCsv = {0, true, false};
constexpr LinesOptions kQuoted = {0, true, true};

absl::Status Refused(absl::string_view why) {
  return absl::FailedPreconditionError(why);
}

TEST(LinesScanner, ALineIsARecordWithItsEnd) {
  EXPECT_THAT(RecordsOf("+1 3:1\n-1 4:2\n"),
              ElementsAre("+1 3:1\n", "-1 4:2\n"));
  EXPECT_THAT(RecordsOf("a\r\nb\n\r\n\nc\rd\n"),
              ElementsAre("a\r\n", "b\n", "\r\n", "\n", "c\rd\n"));
}

TEST(LinesScanner, AFileWithoutLinesHasNoRecords) {
  const Scanned scanned = ScanLines("");
  EXPECT_EQ(scanned.status, absl::OkStatus());
  EXPECT_EQ(scanned.begin, absl::nullopt);
}

TEST(LinesScanner, TheLastLineMayBeOpen) {
  EXPECT_THAT(RecordsOf("a\nb"), ElementsAre("a\n", "b"));
  EXPECT_THAT(RecordsOf("a"), ElementsAre("a"));
  const auto last_is_open = [](const std::string& file) {
    const std::unique_ptr<LinesScanner> scanner = MakeLinesScanner({});
    ScanInPieces(*scanner, file, [](size_t left) { return left; });
    return scanner->last_is_open();
  };
  EXPECT_TRUE(last_is_open("a\nb"));
  EXPECT_TRUE(last_is_open("a"));
  EXPECT_TRUE(last_is_open("a\nb\r"));
  EXPECT_FALSE(last_is_open("a\nb\n"));
  EXPECT_FALSE(last_is_open(""));
}

TEST(LinesScanner, AnEmptyLineMustNotBecomeAnOpenLast) {
  const absl::Status refused =
      Refused("an empty line, and a last line without its end");
  EXPECT_EQ(ScanLines("a\n\nb").status, refused);
  EXPECT_EQ(ScanLines("a\n\r\nb").status, refused);
  EXPECT_EQ(ScanLines("\nb").status, refused);
  EXPECT_THAT(RecordsOf("a\n\nb\n"), ElementsAre("a\n", "\n", "b\n"));
  LinesOptions header;
  header.header_lines = 1;  // an empty one stays
  EXPECT_THAT(RecordsOf("\na\nb", header), ElementsAre("a\n", "b"));
}

TEST(LinesScanner, AHeaderStays) {
  LinesOptions header;
  header.header_lines = 2;
  const std::string file = "name\nunit\n1\n2\n";
  EXPECT_EQ(ScanLines(file, header).begin, 10u);
  EXPECT_THAT(RecordsOf(file, header), ElementsAre("1\n", "2\n"));
  EXPECT_THAT(RecordsOf("name\nunit\n", header), IsEmpty());
  EXPECT_THAT(RecordsOf("name\nun", header), IsEmpty());
  EXPECT_THAT(RecordsOf("", header), IsEmpty());
}

TEST(LinesScanner, AByteOrderMarkStays) {
  const Scanned scanned = ScanLines(
      "\xEF\xBB\xBF"
      "a\nb\n");
  EXPECT_EQ(scanned.begin, 3u);
  EXPECT_THAT(scanned.sizes, ElementsAre(2, 2));
  EXPECT_EQ(ScanLines("\xEF\xBB\xBF").begin, absl::nullopt);
  EXPECT_THAT(RecordsOf("\xEF\xBB"), ElementsAre("\xEF\xBB"));
  EXPECT_THAT(RecordsOf("\xEF\xBBx\n"), ElementsAre("\xEF\xBBx\n"));
  EXPECT_THAT(RecordsOf("\n\xBB\xBFx\n"), ElementsAre("\n", "\xBB\xBFx\n"));
  EXPECT_THAT(RecordsOf("a\n\xEF\xBB\xBF\n"),
              ElementsAre("a\n", "\xEF\xBB\xBF\n"));
  EXPECT_THAT(RecordsOf("\xEF\xBB\xBF\"a\nb\"\n", kQuoted),
              ElementsAre("\"a\nb\"\n"));
}

TEST(LinesScanner, NulBytesAreBinaryData) {
  for (const LinesOptions& options : {LinesOptions(), kCsv, kQuoted}) {
    EXPECT_EQ(ScanLines(std::string("a\nb\0c\n", 6), options).status,
              Refused("binary data: a NUL at byte 3"));
  }
  EXPECT_EQ(ScanLines(std::string("\"a\"\0", 4), kQuoted).status,
            Refused("binary data: a NUL at byte 3"));
  EXPECT_EQ(ScanLines(std::string("a\"\0", 3), kQuoted).status,
            Refused("a double quote inside a field, at byte 1"));
  const std::string late = std::string(50000, '\n') + '\0';
  EXPECT_EQ(ScanLines(late).status,
            Refused("binary data: a NUL at byte 50000"));
}

TEST(LinesScanner, QuotesMeanNothingOutsideCsv) {
  EXPECT_THAT(RecordsOf("{\"a\": 1}\n\"\n5\" disk\n"),
              ElementsAre("{\"a\": 1}\n", "\"\n", "5\" disk\n"));
}

TEST(LinesScanner, QuotedNewlinesOfCsvMustBeNamed) {
  EXPECT_THAT(RecordsOf("a,\"b,c\"\n\"\"\"\",d\n", kCsv),
              ElementsAre("a,\"b,c\"\n", "\"\"\"\",d\n"));
  EXPECT_EQ(ScanLines("a,b\nc,\"d\ne\"\n", kCsv).status,
            Refused("quoted newlines: name record.csv = quoted (the line at "
                    "byte 4 has an odd number of double quotes)"));
  EXPECT_EQ(ScanLines("a,b\nc,\"d", kCsv).status,
            ScanLines("a,b\nc,\"d\n", kCsv).status);
  LinesOptions header = kCsv;
  header.header_lines = 2;
  EXPECT_EQ(ScanLines("\"na\nme\"\n1\n", header).status.code(),
            absl::StatusCode::kFailedPrecondition);
}

// Spark's rows: each line has two quotes, and yet the row goes on.
TEST(LinesScanner, QuotesBehindBackslashesMayNotHideANewline) {
  const std::string row = "1,\"he said \\\"hi\nthere\\\" ok\",0\n";
  EXPECT_EQ(ScanLines(row, kCsv).status,
            Refused("a backslash before a double quote, which may escape it, "
                    "in the line at byte 0: if it does not, name record.csv = "
                    "quoted"));
  // An escaped backslash escapes nothing, and pairs of escaped quotes are
  // whole.
  EXPECT_THAT(RecordsOf("\"C:\\\\\",1\n\"\\\"a\\\"\",2\n", kCsv), SizeIs(2));
  EXPECT_THAT(RecordsOf("\\\"a\\\",b\n", kCsv), SizeIs(1));
  EXPECT_THAT(RecordsOf("\\\na,\"b\"\n", kCsv), SizeIs(2));
  EXPECT_THAT(RecordsOf("\"C:\\\",1\n", kQuoted), SizeIs(1));
}

TEST(LinesScanner, QuotedNewlinesBelongToTheirRecord) {
  EXPECT_THAT(RecordsOf("a,\"b\n\nc\"\r\n\"\n\",\"\"\nd\n", kQuoted),
              ElementsAre("a,\"b\n\nc\"\r\n", "\"\n\",\"\"\n", "d\n"));
  EXPECT_THAT(RecordsOf("\"a\"\"\n\"\"b\"\nc\n", kQuoted),
              ElementsAre("\"a\"\"\n\"\"b\"\n", "c\n"));
  EXPECT_THAT(RecordsOf("a;\"b\n\"|\"\n\"\t\"\n\"", kQuoted),
              ElementsAre("a;\"b\n\"|\"\n\"\t\"\n\""));
  LinesOptions header = kQuoted;
  header.header_lines = 1;
  EXPECT_THAT(RecordsOf("\"na\nme\"\n1\n\"2\n\"\n", header),
              ElementsAre("1\n", "\"2\n\"\n"));
}

TEST(LinesScanner, QuotesThatReadersTakeDifferentlyAreRefused) {
  EXPECT_EQ(ScanLines("a\n5\" disk,b\n", kQuoted).status,
            Refused("a double quote inside a field, at byte 3"));
  EXPECT_EQ(ScanLines("a, \"b\"\n", kQuoted).status,
            Refused("a double quote inside a field, at byte 3"));
  EXPECT_EQ(ScanLines("a\n\"b\"c\n", kQuoted).status,
            Refused("a double quote that ends inside a field, in the record "
                    "at byte 2"));
  // A comma's file with a lone quote behind a semicolon: taken for an opening
  // one it would cut the next quoted newline in two.
  EXPECT_EQ(ScanLines("a;\"b\nc,\"x\ny\",d\n", kQuoted).status,
            Refused("a double quote that ends inside a field, in the record "
                    "at byte 0"));
  EXPECT_EQ(ScanLines("a\n\"b\nc\n", kQuoted).status,
            Refused("a double quote that is never closed, in the record at "
                    "byte 2"));
}

// Records of `file` if '\n' ends them, but not between quotes if `quoted`.
std::vector<std::string> Naive(const std::string& file, bool quoted) {
  std::vector<std::string> records;
  std::string record;
  bool inside = false;
  for (const char c : file) {
    record += c;
    if (c == '"') inside = !inside;
    if (c == '\n' && !(quoted && inside)) {
      records.push_back(record);
      record.clear();
    }
  }
  if (!record.empty()) records.push_back(record);
  return records;
}

// A row of CSV with fields of all kinds; quoted ones with newlines if asked.
std::string RandomRow(std::mt19937& random, bool newlines) {
  static const char* const kPlain[] = {"", "1", "-0.5e3", "word", "\xC3\xA9"};
  static const char* const kQuoted[] = {"\"\"", "\"a,b\"", "\"\"\"\"",
                                        "\"x\"\"y\""};
  static const char* const kBroken[] = {"\"\n\"", "\"a\n\n\"\"b\r\n\"",
                                        "\"\"\"\n\"\"\""};
  std::string row;
  const int fields = 1 + static_cast<int>(random() % 6);
  for (int i = 0; i < fields; ++i) {
    if (i > 0) row += ',';
    switch (random() % (newlines ? 4 : 3)) {
      case 0:
        row += kQuoted[random() % 4];
        break;
      case 3:
        row += kBroken[random() % 3];
        break;
      default:
        row += kPlain[random() % 5];
        break;
    }
  }
  // A long one takes the time of many, byte by byte.
  if (random() % 300 == 0) row += ',' + std::string(random() % 40000, 'l');
  return row + (random() % 4 == 0 ? "\r\n" : "\n");
}

TEST(LinesScanner, AgreesWithTheReference) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int run = 0; run < 30; ++run) {
    const bool newlines = run % 2 == 0;
    std::string file;
    const int rows = static_cast<int>(random() % 300);
    for (int i = 0; i < rows; ++i) file += RandomRow(random, newlines);
    EXPECT_EQ(RecordsOf(file), Naive(file, false));
    EXPECT_EQ(RecordsOf(file, kQuoted), Naive(file, true));
    if (!newlines) {
      EXPECT_EQ(RecordsOf(file, kCsv), Naive(file, false));
    }
  }
}

}  // namespace
}  // namespace shufflefs
