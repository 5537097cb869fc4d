// SPDX-License-Identifier: Apache-2.0
// The chunks of a pack, as a view's policy takes them. Pure.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_CHUNKS_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_CHUNKS_H_

#include "absl/status/statusor.h"
#include "core/dataset/grouping.h"
#include "core/pool/chunk_map.h"
#include "core/staging/pack/pack_index.h"
#include "core/staging/pack/pack_layout.h"

namespace shufflefs {

// By chunk of the pack: the samples of the grouping whose first file lies in
// it, in their order there; chunks without any are left out. What the pack has
// besides is not asked for. Errors: FailedPrecondition that names a file of a
// sample that is not in the pack. REQUIRES: both are of one catalogue.
absl::StatusOr<ChunkList> ChunksOfPack(const PackIndex& index,
                                       const Grouping& grouping);

// The way back, for writing one: the files of each chunk, sample by sample.
std::vector<std::vector<EntryId>> FilesOfChunks(const ChunkList& chunks,
                                                const Grouping& grouping);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_CHUNKS_H_
