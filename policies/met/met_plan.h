// SPDX-License-Identifier: Apache-2.0
// met where the order must be known beforehand (ranked names): which mini-epoch
// and which of its repetitions an epoch shows, with a fixed factor. Nothing is
// counted: epoch n is the same for ever.
//
// A pass of rf repetitions is rf epochs long. Of met.epochs epochs the last
// pass has what is left over: of 90 epochs with rf = 4 it is 2. After these it
// begins again, with passes of their own.
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

// What of which pass an epoch shows.
struct MetEpoch {
  uint64_t pass = 0;    // its number
  uint64_t factor = 1;  // repetitions of its mini-epochs
  uint64_t part = 0;    // of the pass's `factor` epochs, from 0
};

// Pure. met.repeat = auto is 1: nothing is measured.
MetEpoch MetEpochOf(const MetOptions& options, Epoch epoch);

struct MetPlanInput {
  const Grouping* grouping = nullptr;  // outlives what is made of it
  uint64_t dataset_key = 0;
  Seed seed{0};
};

// Pass number `pass`: every sample in one of met.mini_epochs (0: one).
MetPass MakeMetPass(const MetOptions& options, const MetPlanInput& input,
                    uint64_t pass);

// The order of an epoch: samples may come several times in it, or not at all.
// Immutable; any thread may call. Its first lookup makes a table of 8 bytes a
// sample, some 40 ns a sample.
class MetOrder : public Order {
 public:
  MetOrder(const MetOptions& options, const MetPlanInput& input, Epoch epoch)
      : options_(options), input_(input), epoch_(epoch) {}

  uint64_t size() const override { return input_.grouping->sample_count(); }
  uint64_t SampleAt(uint64_t position) const override {
    return table().sample_at[position];
  }
  // The first position at which it comes, or size() where it does not.
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
