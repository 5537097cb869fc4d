// SPDX-License-Identifier: Apache-2.0
#include "core/io/thread_reader.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/io/read_job.h"

namespace shufflefs {
namespace {

ReadJob::Step Read(ReadJob& job) {
  const ssize_t got = preadv2(job.fd(), job.pieces().data(),
                              static_cast<int>(job.pieces().size()),
                              static_cast<off_t>(job.offset()), job.flags());
  return job.ReadEnded(got >= 0 ? got : -errno);
}

}  // namespace

ThreadReader::ThreadReader(const SourceDir& source,
                           const FileReaderOptions& options)
    : source_(source),
      options_(options),
      files_(OpenFiles::kMost),
      queue_(std::max<size_t>(options.threads, 1),
             options.max_in_flight_bytes) {
  MutexLock lock(mu_);
  threads_.push_back(
      StartThread("sfs-read-0", [this](std::stop_token) { Run(); }));
  ++idle_;
}

ThreadReader::~ThreadReader() {
  std::vector<std::jthread> threads;
  {
    MutexLock lock(mu_);
    queue_.Cancel();
    stop_ = true;
    threads.swap(threads_);
  }
  changed_.SignalAll();
  threads.clear();  // joins
}

void ThreadReader::CallOne() {
  if (stop_ || !queue_.Ready()) return;
  if (idle_ > 0) return changed_.SignalOne();
  // Threads that one device holds are not missing to another.
  if (threads_.size() >= options_.threads * queue_.devices()) return;
  auto more = TryStartThread(absl::StrCat("sfs-read-", threads_.size()),
                             [this](std::stop_token) { Run(); });
  if (!more) return;
  threads_.push_back(*std::move(more));
  ++idle_;
}

void ThreadReader::Submit(std::vector<FileRead> reads) {
  MutexLock lock(mu_);
  queue_.Push(std::move(reads));
  CallOne();
}

void ThreadReader::SubmitUrgent(FileRead read) {
  MutexLock lock(mu_);
  queue_.PushUrgent(std::move(read));
  CallOne();
}

void ThreadReader::Cancel() {
  {
    MutexLock lock(mu_);
    queue_.Cancel();
  }
  changed_.SignalAll();
}

FileReaderStats ThreadReader::stats() const {
  MutexLock lock(mu_);
  return queue_.stats();
}

void ThreadReader::Run() {
  for (;;) {
    absl::optional<ReadQueue::Next> next;
    {
      MutexLock lock(mu_);
      while (!queue_.Ready() && !stop_) changed_.Wait(mu_);
      --idle_;
      next = queue_.Take();
      if (!next) return;  // stopped, and all waiting reads were ended
      CallOne();          // wakes others while reads may begin
    }
    ReadJob job(std::move(next->read), &systems_, options_);
    ReadOne(job, next->lane, next->cancelled ? job.Cancelled() : job.Begin());
    MutexLock lock(mu_);
    ++idle_;
  }
}

ReadJob::Step ThreadReader::Open(ReadJob& job) {
  if (job.takes_open_file()) {
    std::shared_ptr<const OpenFile> file = files_.Find(job.path());
    if (file != nullptr) return job.Borrowed(std::move(file));
  }
  absl::StatusOr<UniqueFd> fd = source_.Open(job.path(), O_RDONLY);
  if (fd.ok()) return job.Opened(*std::move(fd));
  return job.OpenFailed(ErrnoOf(fd.status()).value_or(EIO));
}

std::shared_ptr<const OpenFile> ThreadReader::Lend(ReadJob& job) {
  if (job.is_stale()) files_.Drop(job.path());
  if (!job.may_lend()) return nullptr;
  return files_.Keep(job.path(), job.TakeFile());
}

void ThreadReader::ReadOne(ReadJob& job, size_t lane, ReadJob::Step step) {
  using Step = ReadJob::Step;
  while (step != Step::kEnd) {
    step = step == Step::kOpen   ? Open(job)
           : step == Step::kRead ? Read(job)
                                 : job.LookNow(source_);
  }
  {
    MutexLock lock(mu_);
    queue_.End(lane, job.length(), job.got());
    CallOne();  // the next read may fit now
  }
  // First, so that whoever now reads the file again finds it open.
  std::shared_ptr<const OpenFile> left = Lend(job);
  job.CallDone();
  // Last, because a close may wait for a server.
  left.reset();
  job.TakeFd().reset();
}

}  // namespace shufflefs
