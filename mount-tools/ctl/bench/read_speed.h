// SPDX-License-Identifier: Apache-2.0
// Reads the files of a tree in random order, as a training job does, and
// measures how fast that is.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_READ_SPEED_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_READ_SPEED_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"
#include "mount-tools/ctl/run/passed_signals.h"

namespace shufflefs {

struct ReadOptions {
  std::chrono::milliseconds time{10000};
  uint32_t readers = 4;
};

struct ReadSpeed {
  uint64_t files = 0;  // read to their ends
  uint64_t bytes = 0;
  uint64_t errors = 0;  // files that could not be read
  double seconds = 0;
};

// Reads the files of `catalogue` below `root` until the time is over or all are
// read. It runs in a process of its own, which is left behind if the source
// hangs. `signals` reach that process. Empty if it did not end.
absl::optional<ReadSpeed> MeasureReads(const std::string& root,
                                       const Catalogue& catalogue,
                                       const ReadOptions& options,
                                       const PassedSignals& signals);

// Drops the kernel's caches of the whole machine. False if this process may
// not.
bool DropCaches();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_READ_SPEED_H_
