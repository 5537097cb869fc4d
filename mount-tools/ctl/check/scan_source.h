// SPDX-License-Identifier: Apache-2.0
// Scans a source for a command, with progress on a terminal.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SCAN_SOURCE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SCAN_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"
#include "mount-tools/ctl/command.h"

namespace shufflefs {

struct ScannedSource {
  std::string path;  // absolute
  SourceDir source;
  std::shared_ptr<const Catalogue> catalogue;
  double seconds = 0;
};

// FailedPrecondition, which names the source to use instead, if the absolute
// `path` is inside a mount of shufflefs, whose names are not those of its
// source.
absl::Status RefuseMount(const std::string& path);

// Opens `path` (relative to context.cwd) and scans it. Blocks until done.
// Errors: those of RefuseMount, SourceDir::At and Scan.
absl::StatusOr<ScannedSource> ScanSource(const std::string& path,
                                         const CommandContext& context);

// FailedPrecondition if there is nothing to read.
absl::Status RefuseNoFiles(const ScannedSource& scanned);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SCAN_SOURCE_H_
