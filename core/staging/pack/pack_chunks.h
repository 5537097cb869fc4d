// SPDX-License-Identifier: Apache-2.0
// Converts between the chunks of a pack and the chunks that a view's policy
// uses. Pure.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_CHUNKS_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_CHUNKS_H_

#include "absl/status/statusor.h"
#include "core/dataset/grouping.h"
#include "core/pool/chunk_map.h"
#include "core/staging/pack/pack_index.h"
#include "core/staging/pack/pack_layout.h"

namespace shufflefs {

// For each chunk of the pack: the samples of the grouping whose first file is
// in it, in the order of the chunk. Chunks without such samples are omitted.
// Files of the pack that belong to no sample are ignored. Errors:
// FailedPrecondition naming a file of a sample if the pack lacks it. REQUIRES:
// both are of one catalogue.
absl::StatusOr<ChunkList> ChunksOfPack(const PackIndex& index,
                                       const Grouping& grouping);

// The inverse, for writing a pack: the files of each chunk, sample by sample.
std::vector<std::vector<EntryId>> FilesOfChunks(const ChunkList& chunks,
                                                const Grouping& grouping);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_CHUNKS_H_
