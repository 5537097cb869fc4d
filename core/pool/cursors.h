// SPDX-License-Identifier: Apache-2.0
// Where readers stand in one sequence of samples, told from the samples they
// read, and so what to fetch next. Several workers that share a sequence, batch
// by batch, are one cursor as soon as their batches meet; readers at different
// places are several. Who reads at random is none.
#ifndef SHUFFLEFS_CORE_POOL_CURSORS_H_
#define SHUFFLEFS_CORE_POOL_CURSORS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/optional.h"

namespace shufflefs {

// Not thread-safe. Positions are [0, samples). Costs O(cursors) a call.
class Cursors {
 public:
  explicit Cursors(uint64_t samples) : samples_(samples) {}

  // A reader has come to `position`. True if a cursor was expected there.
  bool Advance(uint64_t position);
  // It was expected nowhere, by no other sequence either. (Of several sequences
  // one is the reader's, and in the others his reads may lie close together by
  // chance: names in their order are a random order of one class's listing.)
  void Missed(uint64_t position);
  // Call for every read, of whatever sequence: cursors go that are long idle.
  void Tick();

  // Positions [begin, end) are to be fetched for a cursor; taken as fetched.
  struct Range {
    uint32_t cursor = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  // Nothing, unless a cursor has come so far that the next batch is due. It
  // gets further ahead as it goes on, up to `most` samples.
  absl::optional<Range> Next(uint64_t most);
  // From `position` on a range was not fetched after all, for lack of memory.
  void TakeBack(uint32_t cursor, uint64_t position);
  // Whether what was fetched at `position` may still be read.
  bool Awaits(uint64_t position) const;
  // It was not, and is dropped. A cursor whose samples are not read goes.
  void Unread(uint64_t position);

  size_t count() const { return cursors_.size(); }

 private:
  // The evidence for a cursor: so many of the last reads, so close behind.
  static constexpr uint64_t kNear = 6;
  static constexpr int kEvidence = 3;
  static constexpr size_t kRecent = 64;
  static constexpr uint64_t kLeastAhead = 8;  // samples
  static constexpr size_t kMostCursors = 64;
  static constexpr uint64_t kLongIdle = 1024;  // reads elsewhere

  struct Cursor {
    uint32_t id = 0;
    uint64_t start = 0;
    uint64_t next = 0;    // behind the furthest that was read
    uint64_t ahead = 0;   // behind the furthest that was fetched; >= next
    uint64_t window = 0;  // samples it was last brought ahead
    uint64_t noted = 0;   // clock_ of the last read
    uint64_t read = 0;
    uint64_t unread = 0;

    uint64_t tail() const;  // what lies before is not waited for
    uint64_t end() const;   // of its workers: none is further behind
    // Whether most of what it passes is read: not so where chance made it.
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
