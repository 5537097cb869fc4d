// SPDX-License-Identifier: Apache-2.0
// ChunkLine lists the chunks that an epoch has begun to show, in planned order,
// and chooses which of their samples a name may get.
//
// A chunk is opened when all of it is in memory and all chunks before it are
// open. So what is shown first follows from the plan alone. It does not depend
// on what the last epoch left in memory, nor on the order in which the device
// answers. If nothing of a group is open, a name gets a random sample of the
// next chunks that have any, whether it has arrived or not.
//
// Memory: 4 bytes per sample, untouched until needed, 12 per group, 8 per
// chunk. Not thread-safe.
#ifndef SHUFFLEFS_POLICIES_BRAND_CHUNK_LINE_H_
#define SHUFFLEFS_POLICIES_BRAND_CHUNK_LINE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/random/random.h"
#include "policies/sample_table.h"

namespace shufflefs {

class ChunkLine {
 public:
  // `chunks`: every sample is in one of them. `chunk_of` says in which. Both
  // and the table outlive the line. `window`: how many samples of the line may
  // be drawn before they are open.
  ChunkLine(const std::vector<std::vector<uint32_t>>& chunks,
            const std::vector<uint32_t>& chunk_of, uint64_t window,
            SampleTable& table);

  void BeginEpoch();
  // Appends chunks to the line, which are opened together. Chunks that were
  // already begun in this epoch are skipped.
  void Begin(absl::Span<const uint32_t> chunks);
  // Call it when a sample arrived, left, or is no longer needed.
  void Advance();
  // A sample of `group` that is not bound, from the next chunks that have one;
  // kNone if no chunk has. REQUIRES: nothing of the group is open.
  uint32_t Draw(uint32_t group, Rng* rng);

 private:
  // Samples of a group. Draw chooses from [begin, window).
  struct Queue {
    uint32_t begin = 0;
    uint32_t window = 0;
    uint32_t end = 0;
  };

  // Returns whether this epoch no longer waits for the sample.
  bool Settled(uint32_t sample) const;
  // Returns whether a name may get it although its chunk is not open.
  bool Drawable(uint32_t sample) const;
  // Moves the drawable samples to the end of the window, and begins the window
  // with them.
  void Tidy(uint32_t* samples, Queue& queue) const;

  const std::vector<std::vector<uint32_t>>& chunks_;
  const std::vector<uint32_t>& chunk_of_;
  const uint64_t window_;
  SampleTable& table_;

  static constexpr uint64_t kNever = ~uint64_t{0};
  uint64_t samples_begun_ = 0;
  std::vector<uint64_t> place_;  // by chunk: samples begun before, or kNever
  // Samples of chunks that are begun and not open. Of the front chunks the
  // first settled_ samples are settled.
  std::deque<std::vector<uint32_t>> line_;
  size_t settled_ = 0;
  // By group: samples of the chunks that were begun, in that order, starting at
  // the group's first. Some may be open, bound or gone by now.
  const std::unique_ptr<uint32_t[]> samples_;
  std::vector<Queue> queues_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_CHUNK_LINE_H_
