// SPDX-License-Identifier: Apache-2.0
// PackModeOf decides who may read a pack. It gives nobody a byte that the
// source does not give.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_RIGHTS_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_RIGHTS_H_

#include <sys/types.h>

#include "absl/types/span.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Returns the mode of the files of a pack of `entries`: 0644 if everybody may
// read all of them in the source, else 0600. The directories above the source
// and access control lists count. Blocks on the source; `threads` as in
// ParallelOptions.
mode_t PackModeOf(const SourceDir& source, const Catalogue& catalogue,
                  absl::Span<const EntryId> entries, int threads);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_RIGHTS_H_
