// SPDX-License-Identifier: Apache-2.0
// UringReader is a FileReader on io_uring. One thread submits opens, reads and
// closes of many files together, and they run at the device's queue depth.
#ifndef SHUFFLEFS_CORE_IO_URING_READER_H_
#define SHUFFLEFS_CORE_IO_URING_READER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/io/file_reader.h"
#include "core/io/read_job.h"
#include "core/io/read_queue.h"
#include "core/io/reader_options.h"
#include "core/source/file_systems.h"
#include "core/source/open_files.h"
#include "core/source/source_dir.h"

namespace shufflefs {

class Uring;

// Its one thread is named "sfs-uring". It calls `done`.
class UringReader : public FileReader {
 public:
  // `source` outlives the reader. Errors: the reason why io_uring cannot be
  // used here (it is refused or too old, or openat2 cannot read `source`).
  static absl::StatusOr<std::unique_ptr<UringReader>> Make(
      const SourceDir& source, const FileReaderOptions& options);
  ~UringReader() override;

  void Submit(std::vector<FileRead> reads) override;
  void SubmitUrgent(FileRead read) override;
  void Cancel() override;
  FileReaderStats stats() const override;
  std::string how() const override { return "io_uring"; }

  // Pins `memory` as a whole, so that the kernel need not look up the
  // pages of reads into one contiguous run of it. Call it once; `memory`
  // outlives the reader. Waits for reads in flight. Do not call it from a
  // `done`. Errors: ENOMEM if the process may not lock so much memory; the
  // reader continues without.
  absl::Status RegisterMemory(absl::Span<char> memory);

 private:
  struct Slot;

  UringReader(const SourceDir& source, const FileReaderOptions& options);
  absl::Status Start();

  // Only the ring's thread calls these.
  void Run();
  absl::Status SetUp();
  bool Admit();
  // Calls that so many devices may have pending at a time.
  unsigned MostPending(size_t devices) const;
  // Threads of the kernel for them.
  unsigned Workers(size_t devices) const;
  void HandleWake();
  void HandleSlot(std::unique_ptr<Slot> slot, int32_t result);
  ReadJob::Step OpenEnded(Slot& slot, int32_t result);
  ReadJob::Step OpenHere(Slot& slot);
  void Go(std::unique_ptr<Slot> slot, ReadJob::Step step);
  // Empty: the ring has to open the file.
  absl::optional<ReadJob::Step> OpenAtOnce(Slot& slot);
  // Returns whether the file is on the source's own device, and this is local.
  bool IsHere(const ReadJob& job) const;
  void QueueOpen(std::unique_ptr<Slot> slot);
  // Waits for the read's turn, then queues it.
  void ReadInTurn(std::unique_ptr<Slot> slot);
  void TakeTurns();
  // The read will have none, and the later ones go on.
  void LeaveTurn(Slot& slot);
  void QueueRead(std::unique_ptr<Slot> slot);
  void QueueLook(std::unique_ptr<Slot> slot);
  void QueueAcl(std::unique_ptr<Slot> slot);
  void Close(UniqueFd fd);
  // Keeps or closes the job's open file.
  void Leave(ReadJob& job);
  void End(std::unique_ptr<Slot> slot);

  void WakeIfAsleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const SourceDir& source_;
  const FileReaderOptions options_;
  const bool waits_;  // not IsLocalFs: calls of the source may hang

  // Only the ring's thread uses these, except for Uring::Wake.
  std::unique_ptr<Uring> ring_;
  FileSystems systems_;
  OpenFiles files_;
  // Files are opened concurrently, so opens end in any order. Their reads begin
  // in the order of the requests. A disk reads adjacent files in one go, but
  // not backwards. Reads of a server have no turn: an open that hangs there
  // would stop all others.
  struct Turn {
    uint64_t batch = 0;
    std::unique_ptr<Slot> ready;
    bool over = false;  // ended without a read
  };
  std::deque<Turn> turns_;
  uint64_t first_turn_ = 1;  // number of the first of turns_
  uint64_t batch_ = 0;       // batch of the last read that began
  size_t reading_ = 0;       // reads that had their turn and have not ended

  mutable Mutex mu_;
  CondVar answered_;  // started_ or registered_ was set
  ReadQueue queue_ ABSL_GUARDED_BY(mu_);
  bool awake_ ABSL_GUARDED_BY(mu_) = true;   // it will check queue_ again
  size_t devices_ ABSL_GUARDED_BY(mu_) = 1;  // of queue_, at its last check
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  absl::optional<absl::Status> started_ ABSL_GUARDED_BY(mu_);
  absl::optional<absl::Span<char>> to_register_ ABSL_GUARDED_BY(mu_);
  absl::optional<absl::Status> registered_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // last member: it uses all of the above
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_URING_READER_H_
