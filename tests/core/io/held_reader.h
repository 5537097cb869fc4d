// SPDX-License-Identifier: Apache-2.0
// A FileReader that a test holds in its hands: nothing is read until the test
// says so, in the order and with the outcome that it says.
#ifndef SHUFFLEFS_TESTS_CORE_IO_HELD_READER_H_
#define SHUFFLEFS_TESTS_CORE_IO_HELD_READER_H_

#include <fcntl.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/io/file_reader.h"
#include "core/source/source_dir.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

// For one thread.
class HeldReader : public FileReader {
 public:
  // `dir` outlives this.
  explicit HeldReader(const SourceDir& dir) : dir_(dir) {}
  ~HeldReader() override { EXPECT_TRUE(held.empty()) << "reads were left"; }

  void Submit(std::vector<FileRead> reads) override {
    for (FileRead& read : reads) Hold(std::move(read));
  }
  void SubmitUrgent(FileRead read) override {
    urgent.push_back(read.path);
    Hold(std::move(read));
  }
  void Cancel() override {}
  FileReaderStats stats() const override { return stats_; }
  std::string how() const override { return "hand"; }

  // Reads the i-th held one, or ends it with `status`.
  void Complete(size_t i, const absl::Status& status = absl::OkStatus()) {
    const FileRead read = std::move(held[i]);
    held.erase(held.begin() + static_cast<int64_t>(i));
    ++stats_.reads;
    stats_.in_flight -= read.length;
    if (status.ok()) Read(read);
    read.done(status);
  }
  void CompleteAll() {
    while (!held.empty()) Complete(0);
  }

  std::deque<FileRead> held;
  std::vector<FileRead> submitted;  // all that ever were, without `done`
  std::vector<std::string> urgent;  // paths
  uint64_t most_in_flight = 0;      // bytes

 private:
  void Hold(FileRead read) {
    EXPECT_GT(read.length, 0u);
    EXPECT_EQ(read.offset % kReadAlignment, 0u);
    uint64_t room = 0;
    for (const iovec& piece : read.into) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.iov_base) % kReadAlignment,
                0u);
      EXPECT_EQ(piece.iov_len % kReadAlignment, 0u);
      room += piece.iov_len;
    }
    EXPECT_GE(room, read.length);
    stats_.in_flight += read.length;
    most_in_flight = std::max(most_in_flight, stats_.in_flight);
    FileRead copy = read;
    copy.done = nullptr;
    submitted.push_back(std::move(copy));
    held.push_back(std::move(read));
  }

  void Read(const FileRead& read) {
    const absl::StatusOr<UniqueFd> fd = dir_.Open(read.path, O_RDONLY);
    ASSERT_TRUE(fd.ok()) << fd.status();
    uint64_t offset = read.offset;
    uint64_t left = read.length;
    for (const iovec& piece : read.into) {
      const size_t take = std::min<uint64_t>(piece.iov_len, left);
      if (take == 0) break;
      ASSERT_EQ(
          pread(fd->get(), piece.iov_base, take, static_cast<off_t>(offset)),
          static_cast<ssize_t>(take));
      offset += take;
      left -= take;
    }
    stats_.bytes += read.length;
  }

  const SourceDir& dir_;
  FileReaderStats stats_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_IO_HELD_READER_H_
