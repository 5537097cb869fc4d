// SPDX-License-Identifier: Apache-2.0
// What every FileReader says of a file that is not the one that was expected,
// or cannot be read.
#include <unistd.h>

#include "core/io/file_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/io/reader_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::AttributesOf;
using testing_support::ErrorOf;
using testing_support::FileReaderTest;

INSTANTIATE_TEST_SUITE_P(FaultyReaders, FileReaderTest,
                         testing_support::AllReaders(),
                         testing_support::NameOfKind);

TEST_P(FileReaderTest, AFileThatIsGoneIsStale) {
  tree_.File("d/f", "content");
  FileRead removed = Whole(0, "d/f");
  std::filesystem::remove(tree_.At("d/f"));
  absl::Status status = ReadNow(std::move(removed));
  EXPECT_EQ(ErrorOf(status), ESTALE);
  EXPECT_THAT(std::string(status.message()), HasSubstr("d/f: gone since"));
  // Its directory became a file.
  FileRead below = results_.Read(1, "d/f", 7);
  std::filesystem::remove(tree_.At("d"));
  tree_.File("d", "file");
  EXPECT_EQ(ErrorOf(ReadNow(std::move(below), 1)), ESTALE);
}

TEST_P(FileReaderTest, AFileOfAnotherSizeIsStale) {
  for (int id : {0, 1}) {
    tree_.File("f", std::string(10000, 'a'));
    FileRead read = Whole(id, "f");
    const size_t size = id == 0 ? 6000 : 14000;
    tree_.File("f", std::string(size, 'a'));
    absl::Status status = ReadNow(std::move(read), id);
    EXPECT_EQ(ErrorOf(status), ESTALE);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("f: changed since the catalogue was made (10000 "
                          "bytes then, " +
                          std::to_string(size) + " now)"));
  }
}

TEST_P(FileReaderTest, AFileOfAnotherTimeIsStale) {
  tree_.File("f", "content");
  FileRead read = Whole(0, "f");
  tree_.SetTime("f", 1000000000);
  EXPECT_EQ(ErrorOf(ReadNow(std::move(read))), ESTALE);
}

TEST_P(FileReaderTest, LostPermissionIsAnErrorEvenForRoot) {
  tree_.File("f", "content");
  FileRead lost = Whole(0, "f");
  ASSERT_EQ(chmod(tree_.At("f").c_str(), 0), 0);
  absl::Status status = ReadNow(std::move(lost));
  EXPECT_EQ(ErrorOf(status), EACCES);
  EXPECT_THAT(std::string(status.message()), HasSubstr("f: "));
  // More than before is none.
  FileRead more = Whole(1, "f");
  ASSERT_EQ(chmod(tree_.At("f").c_str(), 0644), 0);
  EXPECT_TRUE(ReadNow(std::move(more), 1).ok());
  FileRead owner = Whole(2, "f");
  owner.expected->uid += 1;
  EXPECT_EQ(ErrorOf(ReadNow(std::move(owner), 2)), EACCES);
}

TEST_P(FileReaderTest, AFileThatEndsEarlyIsAnErrorThatNamesTheByte) {
  tree_.File("f", std::string(5000, 'a'));
  absl::Status status = ReadNow(results_.Read(0, "f", 9000));
  EXPECT_EQ(ErrorOf(status), EIO);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("f: ends early, at byte 5000"));
  FileRead behind = results_.Read(1, "f", 10);
  behind.offset = 2 * kReadAlignment;
  status = ReadNow(std::move(behind), 1);
  EXPECT_EQ(ErrorOf(status), EIO);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at byte 8192"));
}

TEST_P(FileReaderTest, NothingButARegularFileIsRead) {
  tree_.Dir("dir");
  tree_.Fifo("pipe");
  tree_.File("f", "content");
  const FileAttributes known = AttributesOf(tree_.At("f"));
  int id = 0;
  for (const char* path : {"dir", "pipe"}) {
    FileRead read = results_.Read(id, path, 7);
    read.expected = known;
    EXPECT_EQ(ErrorOf(ReadNow(std::move(read), id++)), ESTALE) << path;
  }
  EXPECT_EQ(ErrorOf(ReadNow(results_.Read(id, "dir", 7), id)), EISDIR);
  ++id;
  EXPECT_EQ(ErrorOf(ReadNow(results_.Read(id, "pipe", 7), id)), ESPIPE);
}

TEST_P(FileReaderTest, NoLinkIsFollowed) {
  tree_.File("real/f", "content");
  tree_.Link("out", "/etc/passwd");
  tree_.Link("dir", "real");
  int id = 0;
  for (const char* path : {"out", "dir/f"}) {
    EXPECT_EQ(ErrorOf(ReadNow(results_.Read(id, path, 7), id)), ESTALE) << path;
    ++id;
  }
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string("../etc/passwd"),
        std::string("real/../real/f"), std::string("real/f\0x", 8)}) {
    EXPECT_EQ(ErrorOf(ReadNow(results_.Read(id, path, 7), id)), EINVAL) << path;
    ++id;
  }
  EXPECT_EQ(ErrorOf(ReadNow(results_.Read(id, "", 7), id)), EISDIR);
}

TEST_P(FileReaderTest, AnErrorOfOneReadIsNoneOfTheOthers) {
  std::vector<FileRead> reads;
  for (int i = 0; i < 60; ++i) {
    const std::string path = std::to_string(i);
    tree_.File(path, "content " + path);
    reads.push_back(Whole(i, path));
  }
  for (int i = 0; i < 60; i += 3) {
    std::filesystem::remove(tree_.At(std::to_string(i)));
  }
  reader_ = Make();
  reader_->Submit(std::move(reads));
  results_.Wait(60);
  for (int i = 0; i < 60; ++i) {
    const std::string content = "content " + std::to_string(i);
    EXPECT_EQ(ErrorOf(results_.status(i)), i % 3 == 0 ? ESTALE : 0) << i;
    if (i % 3 == 0) continue;
    EXPECT_EQ(results_.memory(i).Content(content.size()), content);
  }
}

TEST_P(FileReaderTest, AWrongRequestIsRefused) {
  tree_.File("f", std::string(9000, 'a'));
  std::vector<FileRead> reads;
  for (int id = 0; id < 5; ++id) reads.push_back(results_.Read(id, "f", 5000));
  reads[0].length = 0;
  reads[1].length = 2 * kReadAlignment + 1;
  reads[2].offset = 512;
  reads[3].into[0].iov_base =
      static_cast<char*>(reads[3].into[0].iov_base) + 512;
  reads[4].into[0].iov_len -= 512;
  reader_ = Make();
  reader_->Submit(std::move(reads));
  results_.Wait(5);
  for (int id = 0; id < 5; ++id) {
    EXPECT_EQ(results_.status(id).code(), absl::StatusCode::kInvalidArgument)
        << id << results_.status(id);
    EXPECT_THAT(std::string(results_.status(id).message()), HasSubstr("f: "));
  }
}

}  // namespace
}  // namespace shufflefs
