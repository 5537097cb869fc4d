// SPDX-License-Identifier: Apache-2.0
// What a run of the pack writer finds in its destination, and whether it can
// go on with it.
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
  bool complete = false;          // the pack is there
  std::vector<uint32_t> missing;  // chunks to write, in their order
  uint64_t journal_bytes = 0;  // of the journal, which is there unless complete
};

inline PackIdentity IdentityOf(const PackLayout& layout) {
  return {layout.manifest.fingerprint, layout.manifest.state,
          layout.manifest.seed, layout.manifest.chunk_size, layout.composition};
}

// Readies `dir` for writing what of `layout` is missing: with `restart` by
// removing the pack that is there, else by taking it up: its checksums are
// put into layout.manifest. Leftovers are removed. New files get `mode`.
// Errors: those of WritePack about what the destination holds.
absl::StatusOr<PackState> TakeUpPack(PackDir& dir, bool restart, mode_t mode,
                                     PackLayout& layout);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_TAKEUP_H_
