// SPDX-License-Identifier: Apache-2.0
// The chunks that an epoch has begun to show, in the order in which it planned
// them, and which of their samples a name may be given.
//
// A chunk is opened when all of it is in memory and all chunks before it are
// open. So what is shown first follows from the plan alone: not from what an
// epoch before left in memory, and not from the order in which the device
// answers. If nothing of a group is open, a name gets a random sample of the
// next chunks that have any, whether it has arrived or not.
//
// Memory: 4 bytes a sample, 12 a group, 8 a chunk. Not thread-safe.
#ifndef SHUFFLEFS_POLICIES_BRAND_CHUNK_LINE_H_
#define SHUFFLEFS_POLICIES_BRAND_CHUNK_LINE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/types/span.h"
#include "core/random/random.h"
#include "policies/sample_table.h"

namespace shufflefs {

class ChunkLine {
 public:
  // `chunks`: every sample is in one; `chunk_of` says in which. All of it
  // outlives the line. `window`: so many samples of the line are drawn from
  // before they are open.
  ChunkLine(const std::vector<std::vector<uint32_t>>& chunks,
            const std::vector<uint32_t>& chunk_of, uint64_t window,
            SampleTable& table);

  void BeginEpoch();
  // Chunks come next, that are opened together. Nothing happens to one that
  // was begun in this epoch.
  void Begin(absl::Span<const uint32_t> chunks);
  // Something arrived, left, or is needed no more.
  void Advance();
  // A sample of `group` that is not bound, of the next chunks that have one;
  // kNone if no chunk has. REQUIRES: nothing of the group is open.
  uint32_t Draw(uint32_t group, Rng* rng);

 private:
  // Samples of a group: [begin, window) are drawn from.
  struct Queue {
    uint32_t begin = 0;
    uint32_t window = 0;
    uint32_t end = 0;
  };

  // Nothing of it is awaited in this epoch.
  bool Settled(uint32_t sample) const;
  // It may be given to a name though its chunk is not open.
  bool Drawable(uint32_t sample) const;
  // Moves what can be drawn to the end of the window, which begins with it.
  void Tidy(uint32_t* samples, Queue& queue) const;

  const std::vector<std::vector<uint32_t>>& chunks_;
  const std::vector<uint32_t>& chunk_of_;
  const uint64_t window_;
  SampleTable& table_;

  static constexpr uint64_t kNever = ~uint64_t{0};
  uint64_t samples_begun_ = 0;
  std::vector<uint64_t> place_;  // by chunk: samples begun before, or kNever
  // Samples of what is begun and not open; so many of the first are settled.
  std::deque<std::vector<uint32_t>> line_;
  size_t settled_ = 0;
  // By group: samples of chunks that were begun, in that order, from the
  // group's first on. Some may be open, bound or gone by now.
  std::vector<uint32_t> samples_;
  std::vector<Queue> queues_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_CHUNK_LINE_H_
