// SPDX-License-Identifier: Apache-2.0
// Measures how much an epoch's order depends on the epochs before it. A full
// shuffle does not depend on them: a sample that came early in one epoch may
// come anywhere in the next.
//
// There are two figures against each of the last three epochs, both inside the
// groups, because a policy may shuffle only there. One is the correlation of a
// sample's positions, the other the share of neighbours that are near each
// other again. For `shufflectl simulate`, `shufflectl verify`, and tests. Pure.
#ifndef SHUFFLEFS_CORE_QUALITY_EPOCH_MEMORY_H_
#define SHUFFLEFS_CORE_QUALITY_EPOCH_MEMORY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "core/quality/shuffle_quality.h"

namespace shufflefs {

struct EpochMemory {
  static constexpr size_t kEpochs = 3;  // epochs that it looks back
  // Distance in samples of the group, at most.
  static constexpr uint64_t kNear = 8;

  struct Figures {
    uint64_t pairs = 0;  // compared pairs of epochs
    // Pearson's correlation of a sample's positions among the samples of its
    // group that came in both epochs. Uniform: 0.
    QualityMeasure correlation;
    // The share of successive samples in their group that were within kNear of
    // each other in the other epoch.
    QualityMeasure neighbours;
  };
  // [0] compares with the previous epoch, [1] with the one before that, and so
  // on.
  std::array<Figures, kEpochs> before;
};

// Not thread-safe. Memory: 4 bytes per sample for each of the last epochs.
// Time: about 50 ns per sample.
class EpochMemoryMeter {
 public:
  // `group_of` returns the group of a sample, below `groups`. Samples are below
  // `samples`.
  EpochMemoryMeter(uint64_t samples, uint32_t groups,
                   const std::function<uint32_t(uint64_t sample)>& group_of);

  // The next epoch: its samples in the order in which they came. Samples may be
  // missing; none may come twice.
  void Add(absl::Span<const uint64_t> samples);
  // The next epoch is unrelated to the earlier ones.
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

  std::deque<Positions> epochs_;  // newest first
  std::array<Sums, EpochMemory::kEpochs> sums_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_QUALITY_EPOCH_MEMORY_H_
