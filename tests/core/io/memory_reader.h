// SPDX-License-Identifier: Apache-2.0
// A FileReader of files in memory, whose reads complete when the test says, in
// the order that it says. So what several reads in flight do to each other is
// tested without threads and clocks.
#ifndef SHUFFLEFS_TESTS_CORE_IO_MEMORY_READER_H_
#define SHUFFLEFS_TESTS_CORE_IO_MEMORY_READER_H_

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/read_at.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/io/file_reader.h"
#include "core/io/read_queue.h"
#include "core/source/file_check.h"

namespace shufflefs::testing_support {

// Thread-safe. `done` is called by the thread that completes the read, and
// for cancelled reads by the next call that completes anything.
class MemoryReader : public FileReader {
 public:
  // Reads in flight and bytes in flight, as FileReaderOptions.
  explicit MemoryReader(size_t depth = 32,
                        uint64_t max_in_flight_bytes = uint64_t{64} << 20)
      : queue_(depth, max_in_flight_bytes) {}
  // Those in flight complete, the others are cancelled.
  ~MemoryReader() override {
    Cancel();
    CompleteAll();
  }

  // A file from now on; again: with other content.
  void Put(const std::string& path, std::string content) {
    MutexLock lock(mu_);
    files_[path] = std::move(content);
  }
  void Remove(const std::string& path) {
    MutexLock lock(mu_);
    files_.erase(path);
  }

  // The paths of the reads in flight, in the order in which they were begun.
  std::vector<std::string> InFlight() const {
    MutexLock lock(mu_);
    std::vector<std::string> paths;
    for (const ReadQueue::Next& next : begun_) {
      if (!next.cancelled) paths.push_back(next.read.path);
    }
    return paths;
  }
  // Completes the read of `path` that was begun first; false if there is none.
  // With `status` it fails, and no byte comes.
  bool Complete(const std::string& path) { return End(&path, nullptr); }
  bool Fail(const std::string& path, const absl::Status& status) {
    return End(&path, &status);
  }
  // Completes the read that was begun first; false if there is none.
  bool CompleteOne() { return End(nullptr, nullptr); }
  // Until none is left, those included that a `done` submits. Their number.
  size_t CompleteAll() {
    size_t count = 0;
    while (CompleteOne()) ++count;
    return count;
  }

  void Submit(std::vector<FileRead> reads) override {
    MutexLock lock(mu_);
    for (const FileRead& read : reads) submitted_.push_back(read.path);
    queue_.Push(std::move(reads));
    Begin();
  }
  void SubmitUrgent(FileRead read) override {
    MutexLock lock(mu_);
    submitted_.push_back(read.path);
    queue_.PushUrgent(std::move(read));
    Begin();
  }
  void Cancel() override {
    MutexLock lock(mu_);
    queue_.Cancel();
    Begin();
  }
  FileReaderStats stats() const override {
    MutexLock lock(mu_);
    return queue_.stats();
  }
  std::string how() const override { return "memory"; }

  // All paths that were ever asked for, in the order of submission.
  std::vector<std::string> submitted() const {
    MutexLock lock(mu_);
    return submitted_;
  }

 private:
  // Begins what may begin.
  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (absl::optional<ReadQueue::Next> next = queue_.Take()) {
      begun_.push_back(*std::move(next));
    }
  }

  bool End(const std::string* path, const absl::Status* failure) {
    FileRead read;
    absl::Status status;
    {
      MutexLock lock(mu_);
      auto found = std::find_if(
          begun_.begin(), begun_.end(), [&](const ReadQueue::Next& next) {
            return path == nullptr || next.read.path == *path;
          });
      if (found == begun_.end()) return false;
      const bool cancelled = found->cancelled;
      const size_t lane = found->lane;
      read = std::move(found->read);
      begun_.erase(found);
      status = cancelled            ? absl::CancelledError("cancelled")
               : failure != nullptr ? *failure
                                    : Fill(read);
      queue_.End(lane, read.length, status.ok() ? read.length : 0);
      Begin();
    }
    read.done(Annotate(status, read.path));
    return true;
  }

  absl::Status Fill(const FileRead& read) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    auto found = files_.find(read.path);
    if (found == files_.end()) return OpenFailure(ENOENT);
    const std::string& content = found->second;
    if (read.expected && read.expected->size != content.size()) {
      return ErrnoStatus(ESTALE,
                         absl::StrCat("changed since the catalogue was made (",
                                      read.expected->size, " bytes then, ",
                                      content.size(), " now)"));
    }
    if (read.offset + read.length > content.size()) {
      return EndsEarly(content.size());
    }
    uint64_t at = read.offset;
    const uint64_t end = read.offset + read.length;
    for (const iovec& piece : read.into) {
      const size_t take = std::min<uint64_t>(piece.iov_len, end - at);
      std::memcpy(piece.iov_base, content.data() + at, take);
      at += take;
    }
    return at == end ? absl::OkStatus()
                     : absl::InvalidArgumentError("too little memory");
  }

  mutable Mutex mu_;
  ReadQueue queue_ ABSL_GUARDED_BY(mu_);
  std::vector<ReadQueue::Next> begun_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> files_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> submitted_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_IO_MEMORY_READER_H_
