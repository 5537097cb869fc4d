// SPDX-License-Identifier: Apache-2.0
// A pack: the files of a dataset, once more, in chunk files that are read from
// end to end (Brand's data chunk generation). A directory of
//   chunk-000000.pack, …  the bytes of the chunk's files, one behind the other
//   manifest              what lies where, and checksums; written last, so a
//                         directory without one is no finished pack
//
// The manifest is one binary file with a version and a checksum (XXH3, 64
// bits) over everything behind it. It is input like any other: it may be cut
// off, damaged or made by somebody else. Parsing checks every count, offset,
// length and path, and what passes is safe to use; that its files are those of
// a catalogue is checked in pack_index.h.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_FORMAT_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace shufflefs {

inline constexpr char kPackManifest[] = "manifest";

// A file has one checksum for each piece of this many bytes from its start,
// the last of them shorter. So most samples have one, and a part of a large
// file can be checked without reading all of it.
inline constexpr uint64_t kPackCheckBytes = 256 * 1024;
inline uint64_t PackChecksOf(uint64_t length) {
  return length / kPackCheckBytes + (length % kPackCheckBytes != 0 ? 1 : 0);
}
// That of such a piece: its XXH3, 64 bits.
uint64_t PackCheck(absl::string_view bytes);

// Bytes [kPackChecksumAt, +8) of a manifest hold the little-endian checksum of
// what follows them.
inline constexpr size_t kPackChecksumAt = 16;

struct PackManifest {
  struct Chunk {
    uint64_t bytes = 0;
    uint32_t first_file = 0;  // its files follow each other in `files`
    uint32_t file_count = 0;  // at least 1
  };
  struct File {
    uint64_t offset = 0;  // bytes in its chunk: where the one before it ends
    uint64_t length = 0;  // bytes
    uint64_t first_check = 0;
    uint64_t path_at = 0;  // in `paths`
  };

  uint64_t fingerprint = 0;  // Catalogue::fingerprint() of the dataset
  uint64_t state = 0;        // Catalogue::state(): of the very files it is of
  uint64_t seed = 0;         // how the chunks were composed: `pack --seed`
  uint64_t chunk_size = 0;   // and `pack --chunk`
  std::vector<Chunk> chunks;
  std::vector<File> files;       // chunk by chunk
  std::vector<uint64_t> checks;  // file by file, piece by piece
  std::string paths;             // relative to the source, a NUL behind each

  absl::string_view path(const File& file) const {
    return paths.c_str() + file.path_at;
  }
  absl::Span<const uint64_t> checks_of(const File& file) const {
    return absl::MakeSpan(checks).subspan(file.first_check,
                                          PackChecksOf(file.length));
  }
  uint64_t bytes() const;  // of all chunks
};

// "chunk-000007.pack"; with more digits from a million on.
std::string PackChunkName(uint32_t chunk);
// The number in such a name, whose exact form it has; nothing for others.
absl::optional<uint32_t> ParsePackChunkName(absl::string_view name);

// REQUIRES: `manifest` is as ParseManifest gives them.
std::string SerializeManifest(const PackManifest& manifest);

// Errors: InvalidArgument if it is no manifest or one of another version;
// DataLoss if it is cut off, damaged or makes no sense, and where.
absl::StatusOr<PackManifest> ParseManifest(absl::string_view bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_FORMAT_H_
