// SPDX-License-Identifier: Apache-2.0
// ReadQueue knows which reads wait, which have begun, and which may begin next.
// Every FileReader takes the order, the depth, the byte bound and the
// cancellation from it. Devices wait in lanes, each with its own bounds, so a
// device that hangs stops no other.
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
  // Trees rarely span more devices.
  static constexpr size_t kDevices = 4;

  // Both bounds apply to reads of one device (FileRead::expected) that began
  // and did not end. One read of it is always allowed, whatever its length. So
  // all devices together have at most `devices` times as much. Further devices
  // share the bounds of the last. REQUIRES: devices >= 1.
  ReadQueue(size_t depth, uint64_t max_bytes, size_t devices = kDevices)
      : depth_(depth), max_bytes_(max_bytes), most_lanes_(devices), lanes_(1) {}

  // Devices take turns. The reads of each begin in their order.
  void Push(std::vector<FileRead> reads);
  void PushUrgent(FileRead read);
  void Cancel() { cancelled_ = true; }

  struct Next {
    FileRead read;
    size_t lane = 0;         // for End
    bool cancelled = false;  // to be ended, not begun
    bool urgent = false;
    // The number of the Push. Consecutive Pushes of pieces of files count as
    // one.
    uint64_t batch = 0;
  };
  // The next read. Empty if none waits or the bounds are reached. A smaller
  // read never overtakes one of its device that does not fit. Cancelled reads
  // ignore the bounds. Call End for each read.
  absl::optional<Next> Take();
  // Returns whether Take would return a read.
  bool Ready() const;
  // The read is over and `got` bytes came. Call it before the read's `done`, so
  // that the statistics include the read by then.
  void End(size_t lane, uint64_t length, uint64_t got);

  bool idle() const;
  // The most devices that had reads at the same time, as far as they have
  // bounds of their own. At least 1.
  size_t devices() const { return lanes_.size(); }
  FileReaderStats stats() const;

 private:
  // Reads that follow each other whatever waits beside them.
  struct Batch {
    uint64_t number = 0;
    std::deque<FileRead> reads;
  };
  // The reads of one device.
  struct Lane {
    absl::optional<uint64_t> device;
    std::deque<FileRead> urgent;
    // It is empty only if no batch waits.
    Batch next;
    // Those without a place.
    std::deque<Batch> in_line;
    // Those with one.
    CScanQueue<Batch> by_place;
    // Whether `next` has one.
    bool was_by_place = false;
    // Reads of all batches.
    size_t queued = 0;
    size_t begun = 0;
    uint64_t in_flight = 0;  // bytes

    size_t waiting() const { return urgent.size() + queued; }
    bool idle() const { return waiting() == 0 && begun == 0; }
    const FileRead& front() const {
      return urgent.empty() ? next.reads.front() : urgent.front();
    }
    void Push(Batch batch);
    // If nothing is left of the next batch, chooses another. Those with a place
    // and those without take turns.
    void Choose();
    Next Take();
  };

  // The lane of a read. A device that has none gets one that nobody uses.
  size_t LaneOf(const FileRead& read);
  // Adds reads of one device.
  void PushTo(Lane& lane, std::vector<FileRead> reads);
  bool IsReady(const Lane& lane) const;

  const size_t depth_;
  const uint64_t max_bytes_;
  const size_t most_lanes_;
  std::vector<Lane> lanes_;
  size_t turn_ = 0;  // the lane that is next
  uint64_t batches_ = 0;
  bool last_were_pieces_ = false;  // of the last Push
  bool cancelled_ = false;
  uint64_t reads_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_READ_QUEUE_H_
