// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/testbed/image_server.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr size_t kSize = 100000;

char ByteAt(uint64_t offset) { return static_cast<char>(offset * 7 / 3); }

// An image of kSize bytes, and what was answered about it by offset.
class ImageServerTest : public testing::Test {
 protected:
  ImageServerTest() : file_(std::tmpfile()) {
    std::string bytes;
    for (size_t i = 0; i < kSize; ++i) bytes += ByteAt(i);
    EXPECT_EQ(pwrite(fd(), bytes.data(), kSize, 0), ssize_t{kSize});
  }
  ~ImageServerTest() override { std::fclose(file_); }

  int fd() const { return fileno(file_); }

  ImageServer::Answer Keep(uint64_t offset) {
    return [this, offset](int error, absl::Span<const char> bytes) {
      MutexLock lock(mu_);
      errors_[offset] = error;
      answers_[offset] = std::string(bytes.begin(), bytes.end());
    };
  }

  FILE* const file_;
  Mutex mu_;
  std::map<uint64_t, int> errors_;
  std::map<uint64_t, std::string> answers_;
};

std::unique_ptr<DeviceModel> Disk() {
  return std::make_unique<DiskModel>(
      DiskOptions{.bytes = kSize, .bytes_per_second = 1e9, .queue = 8});
}

std::unique_ptr<DeviceModel> Network() {
  return std::make_unique<NetworkModel>(
      NetworkOptions{.bytes_per_second = 1e9,
                     .latency = std::chrono::milliseconds(1),
                     .parallel = 8});
}

TEST_F(ImageServerTest, EveryReadIsAnsweredOnceWithItsBytes) {
  for (auto make : {Disk, Network}) {
    answers_.clear();
    {
      ImageServer server(fd(), make());
      for (uint64_t at = 0; at < kSize; at += 1000) {
        server.Read(at, 1000, Keep(at));
      }
    }
    ASSERT_EQ(answers_.size(), kSize / 1000);
    for (const auto& [offset, bytes] : answers_) {
      EXPECT_EQ(errors_[offset], 0);
      ASSERT_EQ(bytes.size(), 1000u);
      for (size_t i = 0; i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], ByteAt(offset + i)) << offset + i;
      }
    }
  }
}

TEST_F(ImageServerTest, TheEndOfTheImageCutsAReadShort) {
  {
    ImageServer server(fd(), Disk());
    server.Read(kSize - 10, 1000, Keep(0));
    server.Read(kSize, 1000, Keep(1));
  }
  EXPECT_EQ(answers_[0].size(), 10u);
  EXPECT_EQ(answers_[1].size(), 0u);
  EXPECT_EQ(errors_[1], 0);
}

TEST_F(ImageServerTest, AnErrorOfTheImageIsTheAnswer) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  {
    ImageServer server(pipe_ends[0], Disk());
    server.Read(0, 10, Keep(0));
  }
  EXPECT_EQ(errors_[0], ESPIPE);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(ImageServerTest, AnAnswerComesNotBeforeItIsDue) {
  const auto start = std::chrono::steady_clock::now();
  {
    ImageServer server(fd(), std::make_unique<NetworkModel>(NetworkOptions{
                                 .bytes_per_second = 1e9,
                                 .latency = std::chrono::milliseconds(20)}));
    server.Read(0, 10, Keep(0));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(20));
}

TEST_F(ImageServerTest, CountsWhatWasAsked) {
  ImageServer server(fd(), Disk());
  server.Read(0, 1000, Keep(0));
  server.Read(50000, 500, Keep(1));
  DeviceCounts counts = server.counts();
  while (counts.requests < 2) counts = server.counts();
  EXPECT_EQ(counts.bytes, 1500u);
  EXPECT_EQ(counts.seeks, 1u);
}

}  // namespace
}  // namespace shufflefs
