// SPDX-License-Identifier: Apache-2.0
// The data that `shufflectl simulate` shuffles: a dataset that is only numbers,
// or a scanned one.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_DATA_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_DATA_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/types.h"
#include "core/config/config.h"
#include "core/policy/policy.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/check/simulated_pool.h"

namespace shufflefs {

// Samples in the source's path order, each with a label. Immutable.
class SimulatedData {
 public:
  virtual ~SimulatedData() = default;
  virtual uint64_t samples() const = 0;
  virtual uint32_t label(uint64_t sample) const = 0;
  virtual std::string title() const = 0;  // one clause
  virtual const Policy& policy() const = 0;
  // The order of all samples in an epoch. This object outlives it.
  virtual std::shared_ptr<const Order> OrderOf(Epoch epoch) const = 0;
  // For the simulation of a reactive policy; this object outlives the result.
  // `in_place`: with the device addresses of the samples, which are read from a
  // scanned source. Errors: FailedPrecondition if names do not move.
  virtual absl::StatusOr<PoolData> DataForPool(bool in_place) const = 0;
};

struct SyntheticShape {
  uint64_t samples = 0;  // 1 to 2^32 - 1
  uint64_t classes = 0;  // 1 to samples; of equal size, in succession
  uint64_t bytes = 0;    // per sample; they are adjacent on the device
};

// Errors: those of the policy's options, and InvalidArgument for `auto`, which
// needs a real source.
absl::StatusOr<std::unique_ptr<const SimulatedData>> MakeSyntheticData(
    const ViewConfig& config, const SyntheticShape& shape);

// The view `config` of a scanned source; its directories are the labels. Asks
// the device for addresses if the policy needs them. Errors: those of
// MakeViewSetup; InvalidArgument if the view has no samples. `scanned` outlives
// the data.
absl::StatusOr<std::unique_ptr<const SimulatedData>> MakeScannedData(
    const ViewConfig& config, const ScannedSource& scanned);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_DATA_H_
