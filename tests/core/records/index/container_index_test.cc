// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/container_index.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/base/files/crc32c.h"
#include "core/base/status.h"
#include "core/formats/fixed_formats.h"
#include "core/formats/lines_format.h"
#include "core/formats/tar/tar_format.h"
#include "core/formats/tfrecord/tfrecord_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tar/tar_fixture.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::LittleEndian;
using testing_support::Padded;
using testing_support::Slurp;
using testing_support::TarHeaderBlock;
using testing_support::TempTree;
using testing_support::Tfrecord;
using testing_support::Tfrecords;

class ContainerIndexTest : public ::testing::Test {
 protected:
  // As the catalogue knows it now.
  IndexRequest Request(const std::string& path, const RecordFormat& format) {
    const Catalogue catalogue = tree_.Scanned();
    IndexRequest request;
    request.path = path;
    request.expected = catalogue.attributes(*catalogue.FindPath(path));
    request.format = &format;
    request.options = &options_;
    return request;
  }
  absl::StatusOr<ContainerShape> Index(const IndexRequest& request) {
    return IndexContainer(tree_.Source(), request);
  }
  absl::StatusOr<ContainerShape> Index(const std::string& content,
                                       const RecordFormat& format) {
    tree_.File("file", content);
    return Index(Request("file", format));
  }
  // Where records begin, and where the last ends.
  static std::vector<uint64_t> Begins(
      const absl::StatusOr<ContainerShape>& shape) {
    std::vector<uint64_t> begins;
    if (!shape.ok()) {
      ADD_FAILURE() << shape.status();
      return begins;
    }
    for (uint64_t r = 0; r <= shape->records->count(); ++r) {
      begins.push_back(shape->records->begin(r));
    }
    return begins;
  }
  static void ExpectRefused(const absl::StatusOr<ContainerShape>& shape,
                            absl::StatusCode code, const std::string& why) {
    EXPECT_EQ(shape.status().code(), code) << shape.status();
    EXPECT_THAT(std::string(shape.status().message()), HasSubstr(why));
  }

  TempTree tree_;
  TempTree state_;
  RecordOptions options_;
};

TEST_F(ContainerIndexTest, Tfrecord) {
  const auto shape = Index(Tfrecords({"one", "", "three"}), TfrecordFormat());
  EXPECT_THAT(Begins(shape), ElementsAre(0, 19, 35, 56));
  EXPECT_EQ(shape->file_bytes, 56u);
  EXPECT_FALSE(shape->lacks_newline);
  ExpectRefused(Index("no TFRecord at all", TfrecordFormat()),
                absl::StatusCode::kFailedPrecondition, "first bytes");
  std::string damaged = Tfrecords({"one", "two", "three"});
  damaged[33] ^= 1;
  ExpectRefused(Index(damaged, TfrecordFormat()), absl::StatusCode::kDataLoss,
                "19");
}

TEST_F(ContainerIndexTest, Tar) {
  std::string tar;
  for (const char* key : {"a", "b", "c"}) {
    for (const char* kind : {".jpg", ".cls"}) {
      tar += TarHeaderBlock(std::string(key) + kind, 600, '0') +
             Padded(std::string(600, 'x'));
    }
  }
  tar += std::string(1024, '\0');
  EXPECT_THAT(Begins(Index(tar, TarFormat())),
              ElementsAre(0, 3072, 6144, 9216));
  ExpectRefused(Index(std::string(2048, 'x'), TarFormat()),
                absl::StatusCode::kFailedPrecondition, "first bytes");
}

TEST_F(ContainerIndexTest, Fixed) {
  options_.bytes = 10;
  options_.header = 4;
  EXPECT_THAT(Begins(Index(std::string(34, 'x'), FixedFormat())),
              ElementsAre(4, 14, 24, 34));
  ExpectRefused(Index(std::string(35, 'x'), FixedFormat()),
                absl::StatusCode::kFailedPrecondition, "left over");
}

TEST_F(ContainerIndexTest, Npy) {
  std::string head("\x93NUMPY\x01\x00", 8);
  std::string dictionary =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";
  dictionary.resize(117, ' ');
  dictionary += '\n';
  head += std::string("\x76\x00", 2) + dictionary;
  ASSERT_EQ(head.size(), 128u);
  EXPECT_THAT(Begins(Index(head + std::string(24, 'x'), NpyFormat())),
              ElementsAre(128, 136, 144, 152));
  ExpectRefused(Index(head, NpyFormat()), absl::StatusCode::kFailedPrecondition,
                "its header says");
}

TEST_F(ContainerIndexTest, Idx) {
  const std::string head("\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x05",
                         12);
  EXPECT_THAT(Begins(Index(head + "1234567890", IdxFormat())),
              ElementsAre(12, 17, 22));
  ExpectRefused(Index("P5 2 2", IdxFormat()),
                absl::StatusCode::kFailedPrecondition, "not an idx file");
}

TEST_F(ContainerIndexTest, Lines) {
  EXPECT_THAT(Begins(Index("a\nbb\n\nccc\n", LinesFormat())),
              ElementsAre(0, 2, 5, 6, 10));
  options_.header = 1;
  EXPECT_THAT(Begins(Index("x,y\r\n1,2\r\n3,4\r\n", LinesFormat())),
              ElementsAre(5, 10, 15));
  ExpectRefused(Index(std::string("a\nb\0c\n", 6), LinesFormat()),
                absl::StatusCode::kFailedPrecondition, "NUL");
}

TEST_F(ContainerIndexTest, ALastLineWithoutAnEndIsTakenForLonger) {
  auto shape = Index("a\nbb\nccc", LinesFormat());
  EXPECT_THAT(Begins(shape), ElementsAre(0, 2, 5, 9));
  EXPECT_TRUE(shape->lacks_newline);
  EXPECT_EQ(shape->file_bytes, 8u);
  EXPECT_EQ(shape->records->FirstFrom(6), 3u);
  EXPECT_EQ(shape->records->FirstFrom(5), 2u);
  shape = Index("alone", LinesFormat());
  EXPECT_THAT(Begins(shape), ElementsAre(0, 6));
  EXPECT_TRUE(shape->lacks_newline);
  shape = Index("a\nb\n", LinesFormat());
  EXPECT_FALSE(shape->lacks_newline);
  options_.header = 1;
  shape = Index("head\r\nalone", LinesFormat());
  EXPECT_THAT(Begins(shape), ElementsAre(6, 13));
  EXPECT_TRUE(shape->lacks_newline);
  EXPECT_EQ(shape->line_end, LineEnd::kCrLf);
  shape = Index("only a header", LinesFormat());
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->records->count(), 0u);
  EXPECT_FALSE(shape->lacks_newline);
}

TEST_F(ContainerIndexTest, LinesOfWhichOneWouldLoseHalfAnEndAreNotTouched) {
  ExpectRefused(Index("a\r\nb\r\nc", LinesFormat()),
                absl::StatusCode::kFailedPrecondition, "CR LF");
  ExpectRefused(Index("a\n\nc", LinesFormat()),
                absl::StatusCode::kFailedPrecondition, "empty line");
}

// Their records would be summed up, or searched for, for hours.
TEST_F(ContainerIndexTest, FilesThatAreNearlyAllHoleAreRefused) {
  constexpr uint64_t kHuge = uint64_t{64} << 30;
  // One record that seems to fill the file.
  const std::string length = LittleEndian<uint64_t>(kHuge - 16);
  const std::string record = length + LittleEndian(MaskedCrc32c(length));
  const std::string tar = TarHeaderBlock("a.jpg", 0, '0');
  options_.bytes = 1 << 10;
  for (const auto& [head, format] :
       {std::pair<std::string, const RecordFormat*>("", &FixedFormat()),
        {record, &TfrecordFormat()},
        {tar + std::string(1024, '\0'), &TarFormat()},
        {"a\nb\n", &LinesFormat()}}) {
    tree_.File("file", head);
    std::filesystem::resize_file(tree_.At("file"), kHuge);
    uint64_t read = 0;
    IndexRequest request = Request("file", *format);
    request.progress = [&](uint64_t bytes) {
      read += bytes;
      return read < kHuge / 64;
    };
    ExpectRefused(Index(request), absl::StatusCode::kResourceExhausted,
                  "hardly any were written");
    EXPECT_EQ(read, 0u);
  }
}

TEST_F(ContainerIndexTest, AFileThatChangedSinceTheCatalogueIsRefused) {
  tree_.File("file", "a\nb\n");
  const IndexRequest request = Request("file", LinesFormat());
  tree_.File("file", "a\nb\nc\n");
  EXPECT_EQ(ErrnoOf(Index(request).status()), ESTALE);
  std::filesystem::remove(tree_.At("file"));
  EXPECT_EQ(ErrnoOf(Index(request).status()), ESTALE);
}

TEST_F(ContainerIndexTest, AFileThatChangesMeanwhileIsRefused) {
  std::string lines;
  while (lines.size() < (9u << 20)) lines += "a line of some bytes\n";
  tree_.File("file", lines);
  tree_.SetTime("file", 1000);
  IndexRequest request = Request("file", LinesFormat());
  request.saved = state_.At("index");
  request.progress = [this](uint64_t) {
    tree_.SetTime("file", 2000);
    return true;
  };
  EXPECT_EQ(ErrnoOf(Index(request).status()), ESTALE);
  EXPECT_FALSE(std::filesystem::exists(request.saved.path()));
}

TEST_F(ContainerIndexTest, ItTellsHowFarItIsAndCanBeStopped) {
  std::string lines;
  while (lines.size() < (9u << 20)) lines += "a line of some bytes\n";
  tree_.File("file", lines);
  IndexRequest request = Request("file", LinesFormat());
  uint64_t done = 0;
  request.progress = [&](uint64_t bytes) {
    done += bytes;
    return true;
  };
  EXPECT_TRUE(Index(request).ok());
  EXPECT_EQ(done, lines.size());
  request.progress = [](uint64_t) { return false; };
  EXPECT_EQ(Index(request).status().code(), absl::StatusCode::kCancelled);
}

// What is before the first record may be nearly all of a file.
TEST_F(ContainerIndexTest, TheHashOfAHeadCanBeStopped) {
  std::string tar =
      TarHeaderBlock("README", 3 << 20, '0') + std::string(3 << 20, 'x');
  tar += TarHeaderBlock("a.jpg", 600, '0') + Padded(std::string(600, 'x')) +
         std::string(1024, '\0');
  tree_.File("file", tar);
  IndexRequest request = Request("file", TarFormat());
  request.wants_head_hash = true;
  uint64_t read = 0;
  uint64_t calls_after = 0;
  request.progress = [&](uint64_t bytes) {
    if (read == tar.size()) ++calls_after;
    read += bytes;
    return true;
  };
  const auto shape = Index(request);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_NE(shape->head_hash, 0u);
  EXPECT_EQ(read, tar.size());
  EXPECT_GE(calls_after, 3u);
  read = 0;
  request.progress = [&](uint64_t bytes) {
    const bool goes_on = read < tar.size();
    read += bytes;
    return goes_on;
  };
  EXPECT_EQ(Index(request).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ContainerIndexTest, ASavedIndexSavesTheReading) {
  tree_.File("file", Tfrecords({"one", "two"}));
  tree_.SetTime("file", 1000);
  IndexRequest request = Request("file", TfrecordFormat());
  request.saved = state_.At("index");
  const auto first = Begins(Index(request));
  ASSERT_TRUE(std::filesystem::exists(request.saved.path()));
  uint64_t read = 0;
  request.progress = [&](uint64_t bytes) {
    read += bytes;
    return true;
  };
  EXPECT_EQ(Begins(Index(request)), first);
  EXPECT_EQ(read, 0u);
  // Of another file it is not believed, though size and time are the same.
  tree_.File("file", Tfrecords({"a", "fives"}));
  tree_.SetTime("file", 1000);
  IndexRequest other = Request("file", TfrecordFormat());
  other.saved = request.saved;
  EXPECT_EQ(Begins(Index(other)), std::vector<uint64_t>({0, 17, 38}));
}

TEST_F(ContainerIndexTest, ASavedIndexThatDoesNotFitIsReplaced) {
  tree_.File("file", "a\nbb\nccc\n");
  tree_.SetTime("file", 1000);
  const std::string saved = state_.At("index");
  const auto index = [&] {
    IndexRequest request = Request("file", LinesFormat());
    request.saved = saved;
    return Begins(Index(request));
  };
  EXPECT_THAT(index(), ElementsAre(0, 2, 5, 9));
  const std::string good = Slurp(saved);
  // Another time, other lines, of the same size.
  tree_.File("file", "aaaa\nbb\n\n");
  tree_.SetTime("file", 2000);
  EXPECT_THAT(index(), ElementsAre(0, 5, 8, 9));
  EXPECT_NE(Slurp(saved), good);
  // Another number of header lines.
  options_.header = 1;
  EXPECT_THAT(index(), ElementsAre(5, 8, 9));
  // Damaged, cut off, empty.
  const std::string whole = Slurp(saved);
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 4;
  for (const std::string& bad : {damaged, whole.substr(0, 30), std::string()}) {
    state_.File("index", bad);
    EXPECT_THAT(index(), ElementsAre(5, 8, 9));
    EXPECT_EQ(Slurp(saved), whole);
  }
}

TEST_F(ContainerIndexTest, AnIndexThatCannotBeSavedIsUsedAllTheSame) {
  tree_.File("file", "a\nb");
  IndexRequest request = Request("file", LinesFormat());
  request.saved = state_.At("no such directory/index");
  EXPECT_THAT(Begins(Index(request)), ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace shufflefs
