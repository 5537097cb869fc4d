// SPDX-License-Identifier: Apache-2.0
// shufflectl check: reports what shufflefs would do with a dataset.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_COMMAND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "mount-tools/ctl/check/check_report.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeCheckCommand();

// Measures the device, and reports as `shufflectl check` does. Errors: those of
// MakeCheckReport.
absl::StatusOr<CheckReport> ReportOn(const ScannedSource& scanned);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_COMMAND_H_
