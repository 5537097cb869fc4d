// SPDX-License-Identifier: Apache-2.0
// A FileReader in front of another one that fails or holds up the reads of
// chosen paths: a device that is breaking, or slow.
#ifndef SHUFFLEFS_TESTS_CORE_IO_FAULTY_READER_H_
#define SHUFFLEFS_TESTS_CORE_IO_FAULTY_READER_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/io/file_reader.h"

namespace shufflefs::testing_support {

// Thread-safe. `done` is called by the thread of the reader behind it, or by
// the one that calls Release.
class FaultyReader : public FileReader {
 public:
  explicit FaultyReader(std::unique_ptr<FileReader> reader)
      : reader_(std::move(reader)) {}
  // Releases what is held.
  ~FaultyReader() override {
    {
      MutexLock lock(mu_);
      held_.clear();
    }
    reader_.reset();
    for (auto& [path, dones] : TakeAll()) {
      for (auto& done : dones) done();
    }
  }

  // The next `times` reads of `path` read, and then give `error`; -1: all.
  void Fail(const std::string& path, int error, int times = -1) {
    MutexLock lock(mu_);
    faults_[path] = {error, times};
  }
  // Reads of `path` read, but their `done` waits for Release.
  void Hold(const std::string& path) {
    MutexLock lock(mu_);
    held_.insert(path);
  }
  // Calls what waited, and holds `path` no longer.
  void Release(const std::string& path) {
    std::vector<std::function<void()>> dones;
    {
      MutexLock lock(mu_);
      held_.erase(path);
      dones = std::exchange(waiting_[path], {});
    }
    for (auto& done : dones) done();
  }
  // Reads of `path` that are over but for Release.
  size_t waiting(const std::string& path) const {
    MutexLock lock(mu_);
    auto found = waiting_.find(path);
    return found == waiting_.end() ? 0 : found->second.size();
  }

  void Submit(std::vector<FileRead> reads) override {
    for (FileRead& read : reads) Wrap(read);
    reader_->Submit(std::move(reads));
  }
  void SubmitUrgent(FileRead read) override {
    Wrap(read);
    reader_->SubmitUrgent(std::move(read));
  }
  void Cancel() override { reader_->Cancel(); }
  FileReaderStats stats() const override { return reader_->stats(); }
  std::string how() const override { return reader_->how(); }

 private:
  struct Fault {
    int error = 0;
    int times = 0;
  };

  void Wrap(FileRead& read) {
    read.done = [this, path = read.path,
                 done = std::move(read.done)](absl::Status status) {
      if (status.ok()) status = FaultOf(path);
      auto end = [done, status] { done(status); };
      {
        MutexLock lock(mu_);
        if (held_.contains(path)) {
          waiting_[path].push_back(end);
          return;
        }
      }
      end();
    };
  }

  absl::Status FaultOf(const std::string& path) {
    MutexLock lock(mu_);
    auto found = faults_.find(path);
    if (found == faults_.end() || found->second.times == 0) {
      return absl::OkStatus();
    }
    if (found->second.times > 0) --found->second.times;
    return ErrnoStatus(found->second.error, path);
  }

  std::map<std::string, std::vector<std::function<void()>>> TakeAll() {
    MutexLock lock(mu_);
    return std::exchange(waiting_, {});
  }

  std::unique_ptr<FileReader> reader_;

  mutable Mutex mu_;
  std::map<std::string, Fault> faults_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> held_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::vector<std::function<void()>>> waiting_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_IO_FAULTY_READER_H_
