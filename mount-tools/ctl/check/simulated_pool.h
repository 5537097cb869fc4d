// SPDX-License-Identifier: Apache-2.0
// The part of `shufflectl simulate` for reactive policies: it runs the policy's
// binder on a simulated pool (policies/auto/pool_simulation.h), and reports the
// resulting orders.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_POOL_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/grouping.h"
#include "core/policy/binder.h"
#include "core/policy/policy.h"
#include "core/quality/epoch_memory.h"
#include "policies/auto/pool_simulation.h"

namespace shufflefs {

// The data to simulate.
struct PoolData {
  const Grouping* grouping = nullptr;  // outlives the simulation
  uint64_t key = 0;                    // of the dataset
  std::vector<uint64_t> bytes;         // by sample, of all its files
  // Where samples begin on the device. Empty: chunks are composed as in a pack.
  std::vector<uint64_t> addresses;
};

struct PoolOptions {
  uint64_t memory_bytes = 0;  // as the key `memory`
  uint64_t chunk_files = 64;
  uint64_t epochs = 2;  // at least
  Seed seed{0};
  // Instead of the policy's. May be empty. The input outlives the binder.
  std::function<absl::StatusOr<std::unique_ptr<Binder>>(
      const BinderInput& input)>
      make_binder;
};

// What a binder is made of, for these data. It points into `data`.
struct PoolInput {
  BinderInput binder;
  std::string how;  // how chunks were composed
};
PoolInput MakePoolInput(const PoolData& data, const PoolOptions& simulated);

// An epoch and the following ones. The first begins with the memory that the
// epoch before it leaves. Immutable; any thread may call.
class SimulatedPool {
 public:
  // REQUIRES: policy.consumption() is kReactive. Takes about a microsecond per
  // sample. Errors: InvalidArgument for memory that no mount would accept, and
  // those of make_binder.
  static absl::StatusOr<std::unique_ptr<const SimulatedPool>> Make(
      PoolData data, const PoolOptions& simulated, const Policy& policy,
      Epoch epoch);

  // For the epoch, or the next one.
  std::shared_ptr<const Order> OrderOf(Epoch epoch) const;

  // The figures that all epochs have in common.
  const EpochMemory& memory() const { return memory_; }

  // A table of the epoch's figures, and the same as an object.
  std::string Text() const;
  nlohmann::ordered_json Json() const;

 private:
  SimulatedPool(PoolData data, const PoolOptions& simulated);
  void Run(Binder& binder, Epoch epoch);

  // Constant after Make.
  const PoolData data_;
  const PoolOptions simulated_;
  const PoolInput input_;
  Epoch epoch_;
  SimulatedEpoch now_;
  SimulatedEpoch next_;
  EpochMemory memory_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_POOL_H_
