// SPDX-License-Identifier: Apache-2.0
// How well a policy would mix the records of a source's containers. Reads the
// containers to find their records.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_RECORDS_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_RECORDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/config/config.h"
#include "core/records/containers/container_set.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/command.h"

namespace shufflefs {

struct SimulatedRecords {
  std::string policy;
  std::string source;
  ContainerReport containers;
  std::string quality;  // as `mixing` of status; "": nothing can be mixed
  std::string block_reads;    // as in status; may be ""
  std::string block_warning;  // may be ""
};

// `memory` is the key of a mount. Empty: under this configuration no record is
// shuffled. Blocks until all
// containers are read, and shows progress. Errors: those of making the view.
absl::StatusOr<absl::optional<SimulatedRecords>> SimulateRecords(
    const ViewConfig& config, uint64_t memory, const ScannedSource& scanned,
    Epoch epoch, const CommandContext& context);

std::string SimulatedRecordsText(const SimulatedRecords& records);
std::string SimulatedRecordsJson(const SimulatedRecords& records);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SIMULATED_RECORDS_H_
