// SPDX-License-Identifier: Apache-2.0
// How much an epoch's order owes to the epochs before it. A full shuffle owes
// nothing: a sample that came early in one epoch comes anywhere in the next.
//
// Two figures against each of the last three epochs, both inside the groups,
// for only there may a policy shuffle: the correlation of a sample's positions,
// and the share of neighbours that are near each other again. For
// `shufflectl simulate`, `shufflectl verify`, and tests. Pure.
#ifndef SHUFFLEFS_CORE_QUALITY_EPOCH_MEMORY_H_
#define SHUFFLEFS_CORE_QUALITY_EPOCH_MEMORY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "core/quality/mixing.h"

namespace shufflefs {

struct EpochMemory {
  static constexpr size_t kEpochs = 3;  // that are looked back
  static constexpr uint64_t kNear = 8;  // samples of the group, or less

  struct Figures {
    uint64_t pairs = 0;  // of epochs that were compared
    // Pearson's, of a sample's position among those of its group that came in
    // both epochs. Uniform: 0.
    MixingMeasure correlation;
    // Of those that follow each other in their group, which were within kNear
    // of each other in the other epoch.
    MixingMeasure neighbours;
  };
  // With the epoch before, with the one before that, and so on.
  std::array<Figures, kEpochs> before;
};

// Not thread-safe. Memory: 4 bytes a sample for each of the last epochs. Time:
// some 50 ns a sample.
class EpochMemoryMeter {
 public:
  // `group_of`: the group of a sample, below `groups`; samples are below
  // `samples`.
  EpochMemoryMeter(uint64_t samples, uint32_t groups,
                   const std::function<uint32_t(uint64_t sample)>& group_of);

  // The next epoch: its samples in the order in which they came. Samples may
  // be missing; none comes twice.
  void Add(absl::Span<const uint64_t> samples);
  // What comes next has nothing to do with the epochs so far.
  void Forget() { epochs_.clear(); }

  EpochMemory Report() const;

 private:
  static constexpr uint32_t kAbsent = 0xFFFFFFFF;
  // By sample: its position in its group, or kAbsent.
  using Positions = std::vector<uint32_t>;

  // Sums over groups and pairs of epochs.
  struct Sums {
    uint64_t pairs = 0;
    double xy = 0;
    double xx = 0;
    double yy = 0;
    double variance = 0;  // of xy, by chance
    uint64_t followers = 0;
    uint64_t near = 0;
    double near_expected = 0;
    double near_variance = 0;
  };

  void AddPositions(const Positions& now, const Positions& then,
                    Sums& sums) const;
  void AddNeighbours(absl::Span<const uint64_t> samples, const Positions& then,
                     Sums& sums) const;

  // Constant after construction.
  std::vector<uint32_t> group_of_;  // by sample
  const uint32_t groups_;

  std::deque<Positions> epochs_;  // the last ones, the newest first
  std::array<Sums, EpochMemory::kEpochs> sums_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_QUALITY_EPOCH_MEMORY_H_
