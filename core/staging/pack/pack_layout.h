// SPDX-License-Identifier: Apache-2.0
// What lies where in a pack that is to be written, and in which portions it is
// written with a bounded memory. Pure: no I/O.
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
  PackManifest manifest;         // complete but for the checksums, which are 0
  std::vector<EntryId> entries;  // by index in manifest.files
  uint64_t composition = 0;      // 64 bits over which files make which chunk
};

struct PackComposition {
  std::vector<std::vector<EntryId>> chunks;
  // Recorded in the manifest, for people and for `pack` when it runs again.
  uint64_t seed = 0;
  uint64_t chunk_size = 0;
};

// REQUIRES: no chunk is empty; the entries are regular files of the catalogue,
// none of them twice.
PackLayout LayOutPack(const Catalogue& catalogue,
                      const PackComposition& composition);

// A part of a file, and its place in the memory of a pass. Begins at a
// multiple of kPackCheckBytes, and ends at one or with its file.
struct PackPiece {
  uint32_t file = 0;    // index in manifest.files
  uint64_t from = 0;    // bytes
  uint64_t length = 0;  // bytes, > 0
  uint64_t at = 0;      // bytes from the start of the memory
};

// A part of a chunk that lies in the memory of a pass in one stretch.
struct PackStretch {
  uint32_t chunk = 0;
  uint64_t from = 0;    // bytes; 0: it is the first of its chunk
  uint64_t length = 0;  // bytes
  uint64_t at = 0;
  bool last = false;  // of its chunk
};

// What is read, and then written, before the memory is used again.
struct PackPass {
  std::vector<PackPiece> pieces;  // in the order of the pack
  std::vector<PackStretch> stretches;
};

// Cuts chunks into passes: as many whole chunks as the memory holds, or a part
// of one that is larger.
class PackPasses {
 public:
  // Files longer than this are several pieces, so that several threads can
  // read them.
  static constexpr uint64_t kPieceBytes = 16 * kPackCheckBytes;

  // `chunks` are written, in this order. REQUIRES: memory_bytes >=
  // kPackCheckBytes. `manifest` outlives the object.
  PackPasses(const PackManifest& manifest, std::vector<uint32_t> chunks,
             uint64_t memory_bytes)
      : manifest_(manifest),
        chunks_(std::move(chunks)),
        memory_bytes_(memory_bytes) {}

  // False, and an empty pass, when there are no more.
  bool Next(PackPass& pass);

 private:
  // Adds what of the chunk under the cursor fits; whether it is all of it.
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
