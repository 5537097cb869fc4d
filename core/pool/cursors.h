// SPDX-License-Identifier: Apache-2.0
// Cursors finds out, from the samples that were read, where readers are in one
// sequence of samples, and so what to fetch next. If several workers share a
// sequence batch by batch, they become one cursor as soon as their batches
// meet. Readers at different positions are several cursors. A random reader is
// no cursor.
#ifndef SHUFFLEFS_CORE_POOL_CURSORS_H_
#define SHUFFLEFS_CORE_POOL_CURSORS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/optional.h"

namespace shufflefs {

// Not thread-safe. Positions are [0, samples). Each call costs O(cursors).
class Cursors {
 public:
  explicit Cursors(uint64_t samples) : samples_(samples) {}

  // A reader read `position`. Returns true if a cursor expected that.
  bool Advance(uint64_t position);
  // No sequence expected this position; it may start a new cursor. (Only one of
  // several sequences is the reader's. In the others its reads may be close
  // together by chance: names in their order are a random order of one class's
  // listing.)
  void Missed(uint64_t position);
  // Call it for every read of any sequence. Removes cursors that are long idle.
  void Tick();

  // Fetch positions [begin, end) for a cursor. They count as fetched.
  struct Range {
    uint32_t cursor = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  // Returns nothing unless the next batch of a cursor is due. While a cursor
  // goes on it gets further ahead, up to `most` samples.
  absl::optional<Range> Next(uint64_t most);
  // For lack of memory, a range was not fetched from `position` on.
  void TakeBack(uint32_t cursor, uint64_t position);
  // Returns whether a sample fetched at `position` may still be read.
  bool Awaits(uint64_t position) const;
  // The sample at `position` was not read and is dropped. A cursor whose
  // samples are not read is removed.
  void Unread(uint64_t position);

  size_t count() const { return cursors_.size(); }

 private:
  // Evidence for a cursor: kEvidence of the last kRecent reads are at most
  // kNear behind.
  static constexpr uint64_t kNear = 6;
  static constexpr int kEvidence = 3;
  static constexpr size_t kRecent = 64;
  static constexpr uint64_t kLeastAhead = 8;  // samples
  static constexpr size_t kMostCursors = 64;
  static constexpr uint64_t kLongIdle = 1024;  // reads elsewhere

  struct Cursor {
    uint32_t id = 0;
    uint64_t start = 0;
    uint64_t next = 0;    // one past the furthest that was read
    uint64_t ahead = 0;   // one past the furthest fetched; >= next
    uint64_t window = 0;  // samples it was last brought ahead
    uint64_t noted = 0;   // clock_ of the last read
    uint64_t read = 0;
    uint64_t unread = 0;

    uint64_t tail() const;  // no sample before it is waited for
    uint64_t end() const;   // no worker is further behind than this
    // Returns whether most of what it passes is read. A cursor by chance fails
    // this.
    bool reads() const { return 2 * read >= next - start; }
  };

  Cursor* Find(uint32_t id);
  const Cursor* Find(uint32_t id) const;
  void Begin(uint64_t position);
  void Absorb(uint32_t id);

  const uint64_t samples_;
  std::vector<Cursor> cursors_;
  std::array<uint64_t, kRecent> recent_{};  // positions + 1; 0: none
  uint64_t next_recent_ = 0;
  uint64_t clock_ = 0;  // reads
  uint32_t last_id_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_CURSORS_H_
