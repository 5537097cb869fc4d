// SPDX-License-Identifier: Apache-2.0
// PackLayout is the place of every file in a pack that is to be written.
// PackPasses cuts it into portions that fit into a bounded memory. Pure: no
// I/O.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_LAYOUT_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_LAYOUT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/staging/pack/pack_format.h"

namespace shufflefs {

struct PackLayout {
  PackManifest manifest;         // complete, except that all checksums are 0
  std::vector<EntryId> entries;  // by index in manifest.files
  uint64_t composition = 0;      // 64-bit hash of which files make which chunk
};

struct PackComposition {
  std::vector<std::vector<EntryId>> chunks;
  // Stored in the manifest, for people and for later runs of `pack`.
  uint64_t seed = 0;
  uint64_t chunk_size = 0;
};

// REQUIRES: no chunk is empty; the entries are regular files of the catalogue;
// no entry occurs twice.
PackLayout LayOutPack(const Catalogue& catalogue,
                      const PackComposition& composition);

// Part of a file, and its place in the memory of a pass. It begins at a
// multiple of kPackCheckBytes, and ends at such a multiple or at the end of the
// file.
struct PackPiece {
  uint32_t file = 0;    // index in manifest.files
  uint64_t from = 0;    // bytes
  uint64_t length = 0;  // bytes, > 0
  uint64_t at = 0;      // bytes from the start of the memory
};

// Part of a chunk that is contiguous in the memory of a pass.
struct PackStretch {
  uint32_t chunk = 0;
  uint64_t from = 0;    // bytes; 0: the chunk begins here
  uint64_t length = 0;  // bytes
  uint64_t at = 0;
  bool last = false;  // the chunk ends here
};

// All that is read, and then written, before the memory is used again.
struct PackPass {
  std::vector<PackPiece> pieces;  // in the order of the pack
  std::vector<PackStretch> stretches;
};

// Cuts chunks into passes. A pass has as many whole chunks as fit into the
// memory, or part of a chunk that is larger than the memory.
class PackPasses {
 public:
  // A file longer than this becomes several pieces, so that several threads can
  // read it.
  static constexpr uint64_t kPieceBytes = 16 * kPackCheckBytes;

  // `chunks` are the chunks to write, in this order. REQUIRES: memory_bytes >=
  // kPackCheckBytes. `manifest` outlives the object.
  PackPasses(const PackManifest& manifest, std::vector<uint32_t> chunks,
             uint64_t memory_bytes)
      : manifest_(manifest),
        chunks_(std::move(chunks)),
        memory_bytes_(memory_bytes) {}

  // Returns false and an empty pass if there are no more.
  bool Next(PackPass& pass);

 private:
  // Adds what fits of the chunk at the cursor. Returns whether that is all of
  // it.
  bool AddChunk(PackPass& pass, uint64_t& used);

  // Constant after construction.
  const PackManifest& manifest_;
  const std::vector<uint32_t> chunks_;
  const uint64_t memory_bytes_;
  // The cursor.
  size_t next_chunk_ = 0;   // index in chunks_
  uint32_t next_file_ = 0;  // in that chunk
  uint64_t next_byte_ = 0;  // in that file
  uint64_t written_ = 0;    // of that chunk, bytes
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_LAYOUT_H_
