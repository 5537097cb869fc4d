// SPDX-License-Identifier: Apache-2.0
// Which reads wait, which were begun, and which may begin next: the order,
// the depth, the byte bound and the cancellation of every FileReader.
#ifndef SHUFFLEFS_CORE_IO_READ_QUEUE_H_
#define SHUFFLEFS_CORE_IO_READ_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/types/optional.h"
#include "core/io/file_reader.h"

namespace shufflefs {

// Not thread-safe: the reader's lock guards it.
class ReadQueue {
 public:
  // Both bounds are of what was begun and did not end; at least one read is
  // let through whatever its length.
  ReadQueue(size_t depth, uint64_t max_bytes)
      : depth_(depth), max_bytes_(max_bytes) {}

  void Push(std::vector<FileRead> reads);
  void PushUrgent(FileRead read);
  void Cancel() { cancelled_ = true; }

  struct Next {
    FileRead read;
    bool cancelled = false;  // to be ended, not begun
    bool urgent = false;
    // Counts Pushes; those of pieces of files are one that goes on.
    uint64_t batch = 0;
  };
  // The next read, or nothing while none waits or the bounds are reached. A
  // read that does not fit is not overtaken by a smaller one behind it.
  // Cancelled reads come whatever the bounds. Each one is to be Ended.
  absl::optional<Next> Take();
  // True if Take would give one.
  bool Ready() const;
  // `next` is over; `got` bytes came. Call before its `done`, so that who
  // looks at the figures then finds it counted.
  void End(uint64_t length, uint64_t got);

  bool idle() const { return waiting() == 0 && begun_ == 0; }
  FileReaderStats stats() const;

 private:
  size_t waiting() const { return urgent_.size() + queue_.size(); }
  const FileRead& front() const {
    return urgent_.empty() ? queue_.front().read : urgent_.front();
  }

  const size_t depth_;
  const uint64_t max_bytes_;
  std::deque<FileRead> urgent_;
  struct Queued {
    FileRead read;
    uint64_t batch;
  };
  std::deque<Queued> queue_;
  uint64_t batches_ = 0;
  bool last_were_pieces_ = false;  // of the last Push
  bool cancelled_ = false;
  size_t begun_ = 0;
  uint64_t in_flight_ = 0;  // bytes
  uint64_t reads_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_READ_QUEUE_H_
