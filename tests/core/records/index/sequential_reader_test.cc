// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/sequential_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include "core/base/files/read_at.h"
#include "core/source/file_check.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

// A file of so many bytes, which differ from place to place.
class SequentialReaderTest : public ::testing::Test {
 protected:
  ~SequentialReaderTest() override {
    if (file_ != nullptr) std::fclose(file_);
  }

  void Write(size_t size) {
    std::mt19937 random(1);
    content_.resize(size);
    for (char& byte : content_) byte = static_cast<char>(random());
    file_ = std::tmpfile();
    ASSERT_NE(file_, nullptr);
    ASSERT_EQ(std::fwrite(content_.data(), 1, size, file_), size);
    ASSERT_EQ(std::fflush(file_), 0);
  }
  int fd() const { return fileno(file_); }

  std::string content_;
  std::FILE* file_ = nullptr;
};

TEST_F(SequentialReaderTest, ReadsEveryByteOnceInOrder) {
  Write(11 * kMebibyte + 123);
  SequentialReader reader(fd(), content_.size());
  std::string read;
  while (reader.at() < content_.size()) {
    EXPECT_EQ(reader.at(), read.size());
    const auto bytes = reader.Next();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    ASSERT_FALSE(bytes->empty());
    read.append(bytes->data(), bytes->size());
  }
  EXPECT_TRUE(read == content_);
}

// Once it reads large pieces the next one is fetched meanwhile, and may not be
// the one that is wanted.
TEST_F(SequentialReaderTest, GoesOnBehindWhatIsPassedOverNowAndThen) {
  Write(60 * kMebibyte);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  SequentialReader reader(fd(), content_.size());
  uint64_t large = 0;
  while (reader.at() < content_.size()) {
    const uint64_t before = reader.at();
    const auto bytes = reader.Next();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    ASSERT_TRUE(content_.compare(before, bytes->size(), bytes->data(),
                                 bytes->size()) == 0);
    large += bytes->size() == 4 * kMebibyte ? 1 : 0;
    if (large == 0 || random() % 4 != 0) continue;
    reader.Skip(std::min<size_t>(content_.size() - reader.at(), kMebibyte));
  }
  EXPECT_GT(large, 0u);
}

TEST_F(SequentialReaderTest, MayGoWhileTheNextPieceIsFetched) {
  Write(20 * kMebibyte);
  for (int pieces : {6, 7, 8}) {
    SequentialReader reader(fd(), content_.size());
    for (int i = 0; i < pieces; ++i) ASSERT_TRUE(reader.Next().ok());
  }
}

TEST_F(SequentialReaderTest, GoesOnBehindWhatIsPassedOver) {
  Write(9 * kMebibyte);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  SequentialReader reader(fd(), content_.size());
  while (reader.at() < content_.size()) {
    const uint64_t before = reader.at();
    const auto bytes = reader.Next();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_TRUE(content_.compare(before, bytes->size(), bytes->data(),
                                 bytes->size()) == 0);
    EXPECT_EQ(reader.at(), before + bytes->size());
    reader.Skip(
        random() %
        (std::min<size_t>(content_.size() - reader.at(), 3 * kMebibyte) + 1));
  }
}

// What was passed over is not asked for: little of a file is read of which
// little is wanted.
TEST_F(SequentialReaderTest, ReadsLittleBehindAGap) {
  Write(9 * kMebibyte);
  SequentialReader reader(fd(), content_.size());
  uint64_t most = 0;
  for (int i = 0; i < 4; ++i) {
    const auto bytes = reader.Next();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    most = std::max<uint64_t>(most, bytes->size());
    reader.Skip(SequentialReader::kWorthSkipping);
  }
  EXPECT_LE(most, kMebibyte / 8);
}

TEST_F(SequentialReaderTest, SaysWhereAFileEndsEarly) {
  Write(3000);
  SequentialReader reader(fd(), 5000);
  EXPECT_EQ(reader.Next().status(), EndsEarly(3000));
}

TEST_F(SequentialReaderTest, SaysWhereALongFileEndsEarly) {
  Write(20 * kMebibyte);
  SequentialReader reader(fd(), 30 * kMebibyte);
  absl::Status status;
  while (status.ok() && reader.at() < 30 * kMebibyte) {
    status = reader.Next().status();
  }
  EXPECT_EQ(status, EndsEarly(20 * kMebibyte));
}

}  // namespace
}  // namespace shufflefs
