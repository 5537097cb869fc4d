// SPDX-License-Identifier: Apache-2.0
// Whether the source still is what a saved catalogue says.
#ifndef SHUFFLEFS_CORE_SCAN_DRIFT_H_
#define SHUFFLEFS_CORE_SCAN_DRIFT_H_

#include <stop_token>
#include <string>

#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"
#include "core/catalogue/credentials.h"
#include "core/source/source_dir.h"

namespace shufflefs {

struct DriftOptions {
  int threads = 0;  // 0 = as many as a scan
  // The next scan would be for these.
  Credentials reader = Credentials::OfProcess();
  bool serves_others = false;
};

// Compares device, inode and both times of every directory, and who may read
// what is in it, in parallel: one stat a directory; and where there are but few
// files, as containers are, the identity of each and its rights. A catalogue
// that was made for other users differs; where others are served so do other
// access control lists. Returns nothing if all agree, else one line for the log
// that names the first that was found to differ; then scan anew.
//
// A file that was added, removed or renamed changes its directory. One of many
// that was rewritten in place does not; whoever reads it notices by its
// identity. A directory changed so shortly before the scan that its time could
// not tell a later change apart counts as changed.
absl::optional<std::string> FindDrift(const SourceDir& source,
                                      const Catalogue& catalogue,
                                      const DriftOptions& options);

// The same of the rights of every file, however many there are: mode, owner and
// access control list. Takes about as long as a scan; until `stop` is
// requested.
absl::optional<std::string> FindChangedRights(const SourceDir& source,
                                              const Catalogue& catalogue,
                                              std::stop_token stop);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_DRIFT_H_
