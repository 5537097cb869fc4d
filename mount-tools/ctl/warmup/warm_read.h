// SPDX-License-Identifier: Apache-2.0
// Reads the files of a dataset, so that the page cache holds them.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARM_READ_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARM_READ_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Files to read, in the order of the device.
struct WarmPlan {
  std::vector<EntryId> files;
  uint64_t bytes = 0;
  // Files that are left out because `room` is full.
  uint64_t left_files = 0;
  uint64_t left_bytes = 0;
};

// Chooses files from the start of the device on, each as a whole, until `room`
// bytes are full. Asks the source where they are. Errors: Cancelled.
absl::StatusOr<WarmPlan> PlanWarmup(const SourceDir& source,
                                    const Catalogue& catalogue, uint64_t room,
                                    std::stop_token stop);

struct WarmOptions {
  uint32_t threads = 4;
  std::stop_token stop;
  // Gets the bytes that are read so far. Called by all threads.
  std::function<void(uint64_t bytes)> progress;
};

struct WarmResult {
  uint64_t files = 0;  // read to their ends
  uint64_t bytes = 0;
  uint64_t failed = 0;        // files that could not be read
  std::string first_failure;  // which of them, and why
};

// Reads the files. Blocks until all are read, or until `stop` is requested. A
// file that cannot be read is counted, and the others are read.
WarmResult WarmRead(const SourceDir& source, const Catalogue& catalogue,
                    absl::Span<const EntryId> files,
                    const WarmOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARM_READ_H_
