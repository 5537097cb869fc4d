// SPDX-License-Identifier: Apache-2.0
// How well an order mixes the source: figures for `shufflectl simulate`,
// `shufflectl verify` and `status.mixing`, each beside what a uniform shuffle
// of the same samples gives, and a grade.
//
// Work is bounded: a large order is measured on randomly chosen whole batches
// (MixingInput::max_positions). The choice depends on MixingInput::seed only,
// so that a report repeats. Stateless; blocks on nothing but what the caller's
// functions do.
#ifndef SHUFFLEFS_CORE_QUALITY_MIXING_H_
#define SHUFFLEFS_CORE_QUALITY_MIXING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/policy/policy.h"

namespace shufflefs {

// An order that was recorded: the samples of an epoch as they were consumed.
// It may lack samples of the source. Immutable; any thread may call.
class SequenceOrder : public Order {
 public:
  static constexpr uint64_t kAbsent = ~uint64_t{0};

  // REQUIRES: samples differ from each other and are below source_size.
  SequenceOrder(std::vector<uint64_t> samples, uint64_t source_size);

  uint64_t size() const override { return samples_.size(); }
  uint64_t SampleAt(uint64_t position) const override {
    return samples_[position];
  }
  // kAbsent where the sample was not consumed. REQUIRES: below source_size.
  uint64_t PositionOf(uint64_t sample) const override {
    return positions_[sample];
  }

 private:
  const std::vector<uint64_t> samples_;
  std::vector<uint64_t> positions_;  // constant after construction
};

struct MixingInput {
  // The epoch measured, and another one to compare it with (null: none). Both
  // outlive the call. Samples are numbered in the source's path order.
  const Order* order = nullptr;
  const Order* other = nullptr;
  uint64_t source_size = 0;  // samples; at least order->size()
  // The label (group, class directory) of a sample; empty: none is known.
  std::function<uint32_t(uint64_t sample)> label;
  uint64_t batch = 256;              // samples the job takes a step
  uint64_t max_positions = 1 << 17;  // looked at, but for the last batch
  Seed seed{0};                      // of what is looked at
};

// A figure, what a uniform shuffle of the same samples gives on average, and
// the standard error that chance leaves in the figure.
struct MixingMeasure {
  double value = 0;
  double uniform = 0;
  double error = 0;
};

struct MixingReport {
  uint64_t samples = 0;  // of the order
  uint64_t batch = 0;    // samples: as asked for, but from 2 to all
  uint64_t batches = 0;  // measured; 0 for an order of less than two samples

  // Mean distance in the source, in samples, of two that come one after the
  // other; uniform: (n+1)/3.
  MixingMeasure neighbour_distance;
  // The same of two random ones of a batch.
  MixingMeasure batch_distance;
  // Mean entropy of the labels of a batch, in bits. Uniform: of batches drawn
  // at random from the order.
  absl::optional<MixingMeasure> label_entropy;
  // Share of pairs of neighbours in the source that come in one batch;
  // uniform: (batch-1)/(n-1).
  MixingMeasure together;
  // With another epoch: share of those pairs that come in one batch in both
  // epochs (uniform: the product of both), and of positions that have the same
  // sample in both (uniform: 1/n).
  absl::optional<MixingMeasure> together_twice;
  absl::optional<MixingMeasure> repeated;

  // A to F, by the first line below that holds. "Near" allows for three
  // standard errors, ratios are value / uniform.
  //   quality = the lesser of the ratios of batch_distance and label_entropy
  //   A quality near 0.98 or more, B 0.90, C 0.75, D 0.50, F below
  //   at most C if half or more of the positions repeat (a frozen shuffle),
  //   at most B if a twentieth does beyond chance, or if a tenth of the
  //   neighbours of the source come together in both epochs beyond chance.
  char grade = 'A';
  // What decided the grade, one clause: "labels of a batch vary 0.31 as much
  // as in a full shuffle".
  std::string reason;
};

// REQUIRES: input.order is set.
MixingReport MeasureMixing(const MixingInput& input);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_QUALITY_MIXING_H_
