// SPDX-License-Identifier: Apache-2.0
// ReadQueue knows which reads wait, which have begun, and which may begin next.
// Every FileReader takes the order, the depth, the byte bound and the
// cancellation from it.
#ifndef SHUFFLEFS_CORE_IO_READ_QUEUE_H_
#define SHUFFLEFS_CORE_IO_READ_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/types/optional.h"
#include "core/io/cscan_queue.h"
#include "core/io/file_reader.h"

namespace shufflefs {

// Not thread-safe: the reader's lock guards it.
class ReadQueue {
 public:
  // Both bounds apply to reads that began and did not end. One read is always
  // allowed, whatever its length.
  ReadQueue(size_t depth, uint64_t max_bytes)
      : depth_(depth), max_bytes_(max_bytes) {}

  void Push(std::vector<FileRead> reads);
  void PushUrgent(FileRead read);
  void Cancel() { cancelled_ = true; }

  struct Next {
    FileRead read;
    bool cancelled = false;  // to be ended, not begun
    bool urgent = false;
    // The number of the Push. Consecutive Pushes of pieces of files count as
    // one.
    uint64_t batch = 0;
  };
  // The next read. Empty if none waits or the bounds are reached. A smaller
  // read never overtakes one that does not fit. Cancelled reads ignore the
  // bounds. Call End for each read.
  absl::optional<Next> Take();
  // Returns whether Take would return a read.
  bool Ready() const;
  // The read is over and `got` bytes came. Call it before the read's `done`, so
  // that the statistics include the read by then.
  void End(uint64_t length, uint64_t got);

  bool idle() const { return waiting() == 0 && begun_ == 0; }
  FileReaderStats stats() const;

 private:
  // Reads that follow each other whatever waits beside them.
  struct Batch {
    uint64_t number = 0;
    std::deque<FileRead> reads;
  };

  size_t waiting() const { return urgent_.size() + queued_; }
  const FileRead& front() const {
    return urgent_.empty() ? next_.reads.front() : urgent_.front();
  }
  void PushBatch(Batch batch);
  // If nothing is left of the next batch, chooses another. Those with a place
  // and those without take turns.
  void Choose();

  const size_t depth_;
  const uint64_t max_bytes_;
  std::deque<FileRead> urgent_;
  // It is empty only if no batch waits.
  Batch next_;
  // Those without a place.
  std::deque<Batch> in_line_;
  // Those with one.
  CScanQueue<Batch> by_place_;
  // Whether next_ has one.
  bool was_by_place_ = false;
  // Reads of all batches.
  size_t queued_ = 0;
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
