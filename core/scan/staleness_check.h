// SPDX-License-Identifier: Apache-2.0
// Checks whether the source still matches a saved catalogue.
#ifndef SHUFFLEFS_CORE_SCAN_STALENESS_CHECK_H_
#define SHUFFLEFS_CORE_SCAN_STALENESS_CHECK_H_

#include <stop_token>
#include <string>

#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"
#include "core/catalogue/credentials.h"
#include "core/source/source_dir.h"

namespace shufflefs {

struct StalenessOptions {
  int threads = 0;  // 0 = as many as a scan uses
  // The users for whom the next scan would be.
  Credentials reader = Credentials::OfProcess();
  bool serves_others = false;
};

// Compares device, inode and both times of every directory, and who may read
// its contents, in parallel. This takes one stat per directory. If there are
// few files, as with containers, also compares the identity and rights of each.
// A catalogue that was made for other users differs. If other users are served,
// changed access control lists differ too. Returns nothing if all match. Else
// returns one line for the log that names the first difference found; then scan
// again.
//
// A file that was added, removed or renamed changes its directory. A file that
// was rewritten in place does not: with many files, only its reader notices, by
// its identity. A directory counts as changed if it was changed so shortly
// before the scan that its time could not show a later change.
absl::optional<std::string> FindStaleness(const SourceDir& source,
                                          const Catalogue& catalogue,
                                          const StalenessOptions& options);

// The same for the rights of every file, however many there are: mode, owner
// and access control list. Takes about as long as a scan. Ends when `stop` is
// requested.
absl::optional<std::string> FindChangedRights(const SourceDir& source,
                                              const Catalogue& catalogue,
                                              std::stop_token stop);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_STALENESS_CHECK_H_
