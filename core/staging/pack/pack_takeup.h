// SPDX-License-Identifier: Apache-2.0
// TakeUpPack looks at what a run of the pack writer finds in its destination,
// and decides whether the run can continue it.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_TAKEUP_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_TAKEUP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/staging/pack/pack_dir.h"
#include "core/staging/pack/pack_journal.h"
#include "core/staging/pack/pack_layout.h"

namespace shufflefs {

struct PackState {
  bool complete = false;          // the pack is finished
  std::vector<uint32_t> missing;  // chunks to write, in their order
  uint64_t journal_words = 0;  // of the journal, which exists unless complete
};

inline PackIdentity IdentityOf(const PackLayout& layout) {
  return {layout.manifest.fingerprint, layout.manifest.state,
          layout.manifest.seed, layout.manifest.chunk_size, layout.composition};
}

// Prepares `dir` for writing the missing part of `layout`. With `restart` it
// removes the pack that is there. Otherwise it continues that pack, and copies
// its checksums into layout.manifest. Removes leftovers. New files get `mode`,
// and files of the pack that stay lose permissions outside it.
// Errors: those of WritePack about the contents of the destination.
absl::StatusOr<PackState> TakeUpPack(PackDir& dir, bool restart, mode_t mode,
                                     PackLayout& layout);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_TAKEUP_H_
