// SPDX-License-Identifier: Apache-2.0
// MetLookAhead draws the next samples of each group before readers ask for
// them, so that they are fetched from the tier into memory meanwhile. A read of
// the tier takes about a millisecond, and a reader that opens one file after
// the other would wait for each.
//
// Only samples that are in the tier are drawn ahead. Any other would be a read
// of the source at a random place while the tier is filled in order. So nothing
// is drawn ahead over the end of a mini-epoch before the next one is there.
//
// A group's samples come in the order in which they were drawn, but one that is
// in memory comes before one that is not if both are of one repetition. Only
// the next 64 are compared. What had to leave the memory is fetched again.
//
// Memory: some 50 bytes per sample that is drawn ahead or in memory, and 50 per
// group. Cost: O(1) per sample, on average.
#ifndef SHUFFLEFS_POLICIES_MET_MET_LOOK_AHEAD_H_
#define SHUFFLEFS_POLICIES_MET_MET_LOOK_AHEAD_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/types.h"
#include "core/policy/binder.h"
#include "policies/met/met_progress.h"

namespace shufflefs {

// Not thread-safe: it is part of MetBinder. No I/O, threads or clocks.
class MetLookAhead {
 public:
  // Both outlive this object. `mini_epochs`: per pass.
  MetLookAhead(const BinderInput& input, uint32_t mini_epochs,
               MetProgress& progress);

  struct Drawn {
    uint32_t sample = 0;
    bool ready = false;  // it was drawn from a mini-epoch in the tier
  };
  // The sample that a name of `group` shows.
  Drawn Take(uint32_t group);
  // The sample is shown out of turn. If it was drawn ahead, it is not any more.
  void Forget(uint32_t sample);
  // The order begins anew: nothing of the old one is ahead. What was fetched
  // for it stays in memory.
  void Clear();
  // A set became ready.
  void Recheck();

  // As in Binder. Fetched: the sample is on its way.
  std::vector<SampleId> NextFetch(uint64_t room);
  void Fetched(uint32_t sample) { memory_.try_emplace(sample, false); }
  void Arrived(uint32_t sample);
  void Left(uint32_t sample);
  // Returns whether a later name will show the sample.
  bool Awaits(uint32_t sample) const { return awaited_.contains(sample); }

  // How often the sample was drawn and not taken.
  uint32_t Times(uint32_t sample) const;
  // Subtracts what was drawn and not taken from the counts of what was shown.
  void Subtract(std::vector<uint32_t>& counts) const;

 private:
  struct Ahead {
    uint32_t sample = 0;
    uint64_t turn = 0;  // MetProgress::TurnOf
  };
  struct Group {
    std::deque<Ahead> ahead;
    bool taken = false;  // readers ask for it
    bool due = false;    // is in due_
  };

  // How many samples of the group are drawn ahead at most.
  uint64_t MostOf(uint32_t group) const;
  void MakeDue(uint32_t group);
  // Draws one more for the group. Returns its sample.
  uint32_t DrawAhead(uint32_t group);
  void Unawait(uint32_t sample);

  // Constant after construction.
  const BinderInput& input_;
  const uint64_t largest_;  // bytes of a sample that is read as a whole
  const uint64_t most_;     // bytes that are drawn ahead
  const uint64_t samples_;  // as many samples, on average

  MetProgress& progress_;
  std::vector<Group> groups_;
  std::deque<uint32_t> due_;  // groups that have too little ahead
  uint64_t bytes_ = 0;        // drawn ahead
  absl::flat_hash_map<uint32_t, uint32_t> awaited_;  // how often drawn ahead
  // Samples that were in memory and left, though they are drawn ahead. Some may
  // be back, or twice here.
  std::deque<uint32_t> lost_;
  // Samples in memory (true) or on their way (false).
  absl::flat_hash_map<uint32_t, bool> memory_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_LOOK_AHEAD_H_
