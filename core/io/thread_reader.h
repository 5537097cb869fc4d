// SPDX-License-Identifier: Apache-2.0
// ThreadReader is a FileReader of blocking threads, for systems that refuse
// io_uring and for sources on FUSE.
#ifndef SHUFFLEFS_CORE_IO_THREAD_READER_H_
#define SHUFFLEFS_CORE_IO_THREAD_READER_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/io/file_reader.h"
#include "core/io/read_job.h"
#include "core/io/read_queue.h"
#include "core/io/reader_options.h"
#include "core/source/file_systems.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Its threads are named "sfs-read-<i>". They call `done`. The first thread
// starts at once, the others when a read would have to wait for a thread. Each
// device may have as many as the options say, up to ReadQueue::kDevices.
class ThreadReader : public FileReader {
 public:
  // `source` outlives the reader.
  ThreadReader(const SourceDir& source, const FileReaderOptions& options);
  ~ThreadReader() override;

  void Submit(std::vector<FileRead> reads) override;
  void SubmitUrgent(FileRead read) override;
  void Cancel() override;
  FileReaderStats stats() const override;
  std::string how() const override { return "threads"; }

 private:
  void Run();
  // Lets one more thread check the queue if a read may begin.
  void CallOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `lane` is that of queue_.
  void ReadOne(ReadJob& job, size_t lane, ReadJob::Step step);
  ReadJob::Step Open(ReadJob& job);
  // Keeps the job's open file for others, if it may. Returns one to close.
  std::shared_ptr<const OpenFile> Lend(ReadJob& job);

  // Constant after construction.
  const SourceDir& source_;
  const FileReaderOptions options_;

  // Self-synchronised.
  FileSystems systems_;
  OpenFiles files_;
  CondVar changed_;  // queue_ or stop_ changed

  mutable Mutex mu_;
  ReadQueue queue_ ABSL_GUARDED_BY(mu_);
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  size_t idle_ ABSL_GUARDED_BY(mu_) = 0;  // threads without a read
  std::vector<std::jthread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_THREAD_READER_H_
