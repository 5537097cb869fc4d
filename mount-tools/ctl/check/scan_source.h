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
  bool estimated = false;  // sizes, as ScanOptions::exact_entries
};

// Trees of more entries than this are estimated, if the caller allows it. To
// ask each file takes minutes.
inline constexpr uint64_t kMostExact = 1000000;

// FailedPrecondition, which names the source to use instead, if the absolute
// `path` is inside a mount of shufflefs, whose names are not those of its
// source.
absl::Status RefuseMount(const std::string& path);

// Opens `path` (relative to context.cwd) and scans it. Blocks until done.
// `exact_entries`: as in ScanOptions. Errors: those of RefuseMount,
// SourceDir::At and Scan.
absl::StatusOr<ScannedSource> ScanSource(const std::string& path,
                                         const CommandContext& context,
                                         uint64_t exact_entries = 0);

// FailedPrecondition if there is nothing to read.
absl::Status RefuseNoFiles(const ScannedSource& scanned);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_SCAN_SOURCE_H_
