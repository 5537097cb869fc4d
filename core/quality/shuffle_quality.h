// SPDX-License-Identifier: Apache-2.0
// Measures how well an order mixes the source, for `shufflectl simulate`,
// `shufflectl verify` and `status.mixing`. Each figure comes with that of a
// uniform shuffle of the same samples. A grade sums them up.
//
// Work is bounded: a large order is measured on randomly chosen whole batches
// (QualityInput::max_positions). The choice depends only on QualityInput::seed,
// so reports are reproducible. Stateless. Blocks only in the caller's
// functions.
#ifndef SHUFFLEFS_CORE_QUALITY_SHUFFLE_QUALITY_H_
#define SHUFFLEFS_CORE_QUALITY_SHUFFLE_QUALITY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/policy/policy.h"

namespace shufflefs {

// SequenceOrder is a recorded order: the samples of an epoch as they were
// consumed. It may lack samples of the source. Immutable; any thread may call.
class SequenceOrder : public Order {
 public:
  static constexpr uint64_t kAbsent = ~uint64_t{0};

  // REQUIRES: samples are distinct and below source_size.
  SequenceOrder(std::vector<uint64_t> samples, uint64_t source_size);

  uint64_t size() const override { return samples_.size(); }
  uint64_t SampleAt(uint64_t position) const override {
    return samples_[position];
  }
  // kAbsent if the sample was not consumed. REQUIRES: sample is below
  // source_size.
  uint64_t PositionOf(uint64_t sample) const override {
    return positions_[sample];
  }

 private:
  const std::vector<uint64_t> samples_;
  std::vector<uint64_t> positions_;  // constant after construction
};

struct QualityInput {
  // The epoch to measure, and another one to compare it with (null: none). Both
  // outlive the call. Samples are numbered in the source's path order.
  const Order* order = nullptr;
  const Order* other = nullptr;
  uint64_t source_size = 0;  // in samples; at least order->size()
  // The label (group, class directory) of a sample. Empty if labels are
  // unknown.
  std::function<uint32_t(uint64_t sample)> label;
  uint64_t batch = 256;  // samples that the job takes per step
  // Measured positions, except for the last batch.
  uint64_t max_positions = 1 << 17;
  Seed seed{0};  // chooses what is measured
};

// A figure, its mean for a uniform shuffle of the same samples, and its
// standard error by chance.
struct QualityMeasure {
  double value = 0;
  double uniform = 0;
  double error = 0;
};

struct QualityReport {
  uint64_t samples = 0;  // of the order
  uint64_t batch = 0;    // in samples: as requested, but from 2 to all
  uint64_t batches = 0;  // measured; 0 for an order of fewer than two samples

  // Mean distance in the source, in samples, of two successive samples.
  // Uniform: (n+1)/3.
  QualityMeasure neighbour_distance;
  // The same for two random samples of a batch.
  QualityMeasure batch_distance;
  // Mean entropy of the labels of a batch, in bits. Uniform: for batches drawn
  // at random from the order.
  absl::optional<QualityMeasure> label_entropy;
  // Share of pairs of neighbours in the source that come in one batch. Uniform:
  // (batch-1)/(n-1).
  QualityMeasure together;
  // Compared with another epoch: the share of those pairs that come in one
  // batch in both epochs (uniform: the product of both), and the share of
  // positions that have the same sample in both (uniform: 1/n).
  absl::optional<QualityMeasure> together_twice;
  absl::optional<QualityMeasure> repeated;

  // A to F, by the first line below that holds. "Near" allows for three
  // standard errors; ratios are value / uniform.
  //   quality = the lesser of the ratios of batch_distance and label_entropy
  //   A quality near 0.98 or more, B 0.90, C 0.75, D 0.50, F below
  //   at most C if half or more of the positions repeat (a frozen shuffle),
  //   at most B if a twentieth does beyond chance, or if a tenth of the
  //   neighbours of the source come together in both epochs beyond chance.
  char grade = 'A';
  // The deciding figure, as one clause: "labels of a batch vary 0.31 as much as
  // in a full shuffle".
  std::string reason;
};

// Returns whether the grade means something. Of a few batches each order mixes
// well: one batch has all of its samples.
bool IsGraded(const QualityReport& report);
// "A: batches are …", or "not graded: …".
std::string GradeLine(const QualityReport& report);

// REQUIRES: input.order is set.
QualityReport MeasureShuffleQuality(const QualityInput& input);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_QUALITY_SHUFFLE_QUALITY_H_
