// SPDX-License-Identifier: Apache-2.0
// Whether the source still is what a saved catalogue says.
#ifndef SHUFFLEFS_CORE_DRIFT_H_
#define SHUFFLEFS_CORE_DRIFT_H_

#include <string>

#include "absl/types/optional.h"
#include "core/catalogue.h"
#include "core/io/source_dir.h"

namespace shufflefs {

struct DriftOptions {
  int threads = 0;  // 0 = as many as a scan
};

// Compares device, inode and both times of every directory, in parallel: one
// stat a directory; and where there are but few files, as containers are, the
// identity of each. Returns nothing if all agree, else one
// line for the log that names the first that was found to differ; then scan
// anew.
//
// A file that was added, removed or renamed changes its directory. One of many
// that was rewritten in place does not; whoever reads it notices by its
// identity. A directory changed so shortly before the scan that its time could
// not tell a later change apart counts as changed.
absl::optional<std::string> FindDrift(const SourceDir& source,
                                      const Catalogue& catalogue,
                                      const DriftOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DRIFT_H_
