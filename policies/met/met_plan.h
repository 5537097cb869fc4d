// SPDX-License-Identifier: Apache-2.0
// The plan of met if the order must be known in advance (ranked names). It says
// which mini-epoch, and which of its repetitions, an epoch shows, with a fixed
// factor. Nothing is counted: epoch n is always the same.
//
// A pass of rf repetitions lasts rf epochs. The last pass of met.epochs epochs
// takes the remainder: with 90 epochs and rf = 4 that is 2. After met.epochs
// epochs it starts again, with new passes.
#ifndef SHUFFLEFS_POLICIES_MET_MET_PLAN_H_
#define SHUFFLEFS_POLICIES_MET_MET_PLAN_H_

#include <cstdint>
#include <vector>

#include "core/base/lazy.h"
#include "core/dataset/grouping.h"
#include "core/policy/policy.h"
#include "policies/met/met_options.h"
#include "policies/met/met_pass.h"

namespace shufflefs {

// The part of a pass that an epoch shows.
struct MetEpoch {
  uint64_t pass = 0;    // its number
  uint64_t factor = 1;  // repetitions of its mini-epochs
  uint64_t part = 0;    // of the pass's `factor` epochs, from 0
};

// Pure. met.repeat = auto counts as 1, because nothing is measured.
MetEpoch MetEpochOf(const MetOptions& options, Epoch epoch);

struct MetPlanInput {
  const Grouping* grouping = nullptr;  // outlives everything made of it
  uint64_t dataset_key = 0;
  Seed seed{0};
};

// Pass number `pass`. Every sample is in one of met.mini_epochs (0: one).
MetPass MakeMetPass(const MetOptions& options, const MetPlanInput& input,
                    uint64_t pass);

// The order of an epoch. A sample may occur several times in it, or not at all.
// Immutable; any thread may call. The first lookup makes a table of 8 bytes per
// sample and takes some 40 ns per sample.
class MetOrder : public Order {
 public:
  MetOrder(const MetOptions& options, const MetPlanInput& input, Epoch epoch)
      : options_(options), input_(input), epoch_(epoch) {}

  uint64_t size() const override { return input_.grouping->sample_count(); }
  uint64_t SampleAt(uint64_t position) const override {
    return table().sample_at[position];
  }
  // The first position of the sample, or size() if it does not occur.
  uint64_t PositionOf(uint64_t sample) const override {
    return table().position_of[sample];
  }

 private:
  struct Table {
    std::vector<uint32_t> sample_at;
    std::vector<uint32_t> position_of;
  };
  const Table& table() const;

  // Constant after construction.
  const MetOptions options_;
  const MetPlanInput input_;
  const Epoch epoch_;
  Lazy<Table> table_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_PLAN_H_
