// SPDX-License-Identifier: Apache-2.0
// A pack stores the files of a dataset a second time, in chunk files that are
// read from start to end (data chunk generation in Brand). It is a directory of
//
//   chunk-000000.pack, …  the bytes of the chunk's files, back to back
//   manifest              the place of every file, and checksums; written last,
//                         so a directory without one is not a finished pack
//
// The manifest is one binary file with a version and a checksum (XXH3, 64 bits)
// over everything that follows it. The parser treats it as untrusted input: it
// may be truncated, damaged or made by somebody else. Parsing checks every
// count, offset, length and path; a manifest that passes is safe to use.
// pack_index.h checks that its files are those of a catalogue.
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
#include "core/io/io_buf.h"

namespace shufflefs {

inline constexpr char kPackManifest[] = "manifest";

// A file has one checksum for each piece of this many bytes from its start. The
// last piece may be shorter. So most samples have one checksum, and part of a
// large file can be checked without reading the whole file.
inline constexpr uint64_t kPackCheckBytes = 256 * 1024;
inline uint64_t PackChecksOf(uint64_t length) {
  return length / kPackCheckBytes + (length % kPackCheckBytes != 0 ? 1 : 0);
}
// The checksum of such a piece: its XXH3, 64 bits.
uint64_t PackCheck(absl::string_view bytes);
// The PackCheck of a range. REQUIRES: it is within.
uint64_t PackCheckOf(const IoBuf& bytes, uint64_t offset, uint64_t length);

struct PackManifest {
  struct Chunk {
    uint64_t bytes = 0;
    uint32_t first_file = 0;  // its files are adjacent in `files`
    uint32_t file_count = 0;  // at least 1
  };
  struct File {
    uint64_t offset = 0;  // bytes in its chunk: the end of the file before
    uint64_t length = 0;  // bytes
    uint64_t first_check = 0;
    uint64_t path_at = 0;  // in `paths`
  };

  uint64_t fingerprint = 0;  // Catalogue::fingerprint() of the dataset
  uint64_t state = 0;        // Catalogue::state(): identifies the exact files
  uint64_t seed = 0;         // that chose the chunks: `pack --seed`
  uint64_t chunk_size = 0;   // `pack --chunk`
  std::vector<Chunk> chunks;
  std::vector<File> files;       // chunk by chunk
  std::vector<uint64_t> checks;  // file by file, piece by piece
  std::string paths;             // relative to the source, each ends in a NUL

  absl::string_view path(const File& file) const {
    return paths.c_str() + file.path_at;
  }
  uint64_t bytes() const;  // of all chunks
};

// "chunk-000007.pack". From a million on, the number has more digits.
std::string PackChunkName(uint32_t chunk);
// The number in a name of exactly this form. Nothing for all other names.
absl::optional<uint32_t> ParsePackChunkName(absl::string_view name);

// REQUIRES: ParseManifest would accept `manifest`.
std::string SerializeManifest(const PackManifest& manifest);

// Errors: InvalidArgument if it is no manifest or has another version;
// DataLoss, saying where, if it is truncated, damaged or inconsistent.
absl::StatusOr<PackManifest> ParseManifest(absl::string_view bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_FORMAT_H_
