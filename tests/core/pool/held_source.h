// SPDX-License-Identifier: Apache-2.0
// A source of samples that the test drives: what is asked for comes when the
// test says so.
#ifndef SHUFFLEFS_TESTS_CORE_POOL_HELD_SOURCE_H_
#define SHUFFLEFS_TESTS_CORE_POOL_HELD_SOURCE_H_

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/io/file_reader.h"
#include "core/pool/sample_source.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

// A byte of a file, told by its id and place.
inline char ByteAt(EntryId file, uint64_t at) {
  return static_cast<char>(file.value() * 131 + at * 7 + (at >> 9));
}

// The bytes [at, at + count) of a file to `to`: much faster than one by one in
// builds that watch every access.
inline void BytesAt(EntryId file, uint64_t at, uint64_t count, char* to) {
  // Within 512 bytes each is 7 more than the one before: a piece of this. It
  // comes again after 256, and value v stands at 183 * v, as 7 * 183 % 256 = 1.
  static const std::vector<char> kSevens = [] {
    std::vector<char> sevens(256 + 512);
    for (size_t i = 0; i < sevens.size(); ++i) {
      sevens[i] = static_cast<char>(i * 7);
    }
    return sevens;
  }();
  while (count > 0) {
    const uint64_t some = std::min(512 - at % 512, count);
    const auto first = static_cast<unsigned char>(ByteAt(file, at));
    std::memcpy(to, &kSevens[first * 183 % 256], some);
    to += some;
    at += some;
    count -= some;
  }
}

// Into a piece that is read.
inline void Fill(const FilePiece& piece) {
  uint64_t at = 0;
  for (const iovec& run : piece.into) {
    EXPECT_EQ(run.iov_len % kReadAlignment, 0u);
    const uint64_t some = std::min<uint64_t>(run.iov_len, piece.length - at);
    BytesAt(piece.file, piece.offset + at, some,
            static_cast<char*>(run.iov_base));
    at += some;
  }
  EXPECT_EQ(at, piece.length) << "no room for what was asked";
}

// Keeps what it is asked for until the test lets it come.
class HeldSource : public SampleSource {
 public:
  void Fetch(std::vector<FilePiece> files) override {
    MutexLock lock(mu_);
    for (FilePiece& file : files) queue_.push_back(std::move(file));
  }
  void FetchNow(FilePiece piece) override {
    MutexLock lock(mu_);
    urgent_.push_back(std::move(piece));
  }
  uint64_t bytes_read() const override { return bytes_; }
  uint64_t reads() const override { return reads_; }
  std::string how() const override { return "by hand"; }

  bool Come(const absl::Status& status = absl::OkStatus()) {
    FilePiece piece;
    {
      MutexLock lock(mu_);
      std::deque<FilePiece>& from = urgent_.empty() ? queue_ : urgent_;
      if (from.empty()) return false;
      piece = std::move(from.front());
      from.pop_front();
    }
    ++reads_;
    if (status.ok()) {
      Fill(piece);
      bytes_ += piece.length;
    }
    piece.done(status);
    return true;
  }
  void ComeAll() {
    while (Come()) {
    }
  }
  size_t waiting() const {
    MutexLock lock(mu_);
    return queue_.size() + urgent_.size();
  }
  // The files that are waited for, in the order in which they were asked for.
  std::vector<EntryId> asked() const {
    MutexLock lock(mu_);
    std::vector<EntryId> files;
    for (const FilePiece& piece : queue_) files.push_back(piece.file);
    return files;
  }
  size_t urgent() const {
    MutexLock lock(mu_);
    return urgent_.size();
  }

 private:
  mutable Mutex mu_;
  std::deque<FilePiece> queue_ ABSL_GUARDED_BY(mu_);
  std::deque<FilePiece> urgent_ ABSL_GUARDED_BY(mu_);
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> reads_{0};
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_POOL_HELD_SOURCE_H_
