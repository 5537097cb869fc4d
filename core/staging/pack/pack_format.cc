// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_format.h"

#include <xxhash.h>

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/files/checked_file.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr CheckedFormat kPackFormat = {.magic = "SHUFPAK\n",
                                       .version = 2,
                                       .name = "a manifest",
                                       .other = "not the manifest of a pack"};
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;
constexpr char kChunkPrefix[] = "chunk-";
constexpr char kChunkSuffix[] = ".pack";

// The file is this header, then `chunks` FiledChunk, `files` FiledFile,
// `checks` words and `path_bytes` bytes.
struct PackHeader {
  CheckedHead head;
  uint64_t fingerprint;
  uint64_t state;
  uint64_t seed;
  uint64_t chunk_size;
  uint64_t chunks;
  uint64_t files;
  uint64_t checks;
  uint64_t path_bytes;
};

struct FiledChunk {
  uint64_t bytes;
  uint64_t files;
};

struct FiledFile {
  uint64_t offset;
  uint64_t length;
};

// Returns whether SourceDir accepts the path.
bool IsRelativeAndClean(absl::string_view path) {
  for (;;) {
    const size_t slash = path.find('/');
    const absl::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == absl::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

absl::Status Senseless(absl::string_view what, uint64_t number,
                       absl::string_view why) {
  return absl::DataLossError(absl::StrCat(what, " ", number, ": ", why));
}

// Gives each chunk its files. Together the chunks must have all files.
absl::Status FillChunks(const std::vector<FiledChunk>& filed,
                        PackManifest& manifest) {
  if (manifest.files.size() > std::numeric_limits<uint32_t>::max()) {
    return absl::DataLossError("there are more files than a pack may have");
  }
  uint64_t next = 0;
  for (const FiledChunk& chunk : filed) {
    if (chunk.files == 0 || chunk.files > manifest.files.size() - next) {
      return Senseless("chunk", manifest.chunks.size(),
                       "its number of files is invalid");
    }
    manifest.chunks.push_back({chunk.bytes, static_cast<uint32_t>(next),
                               static_cast<uint32_t>(chunk.files)});
    next += chunk.files;
  }
  if (next != manifest.files.size()) {
    return absl::DataLossError("there are files in no chunk");
  }
  return absl::OkStatus();
}

// The first file of a chunk must begin at 0, each other file where the one
// before it ends, and the last must end with the chunk. So none overlaps or is
// outside.
absl::Status CheckPlaces(const PackManifest& manifest) {
  for (uint32_t c = 0; c < manifest.chunks.size(); ++c) {
    const PackManifest::Chunk& chunk = manifest.chunks[c];
    uint64_t end = 0;
    for (uint32_t i = 0; i < chunk.file_count; ++i) {
      const PackManifest::File& file = manifest.files[chunk.first_file + i];
      if (file.offset != end) {
        return Senseless("file", chunk.first_file + i,
                         "does not begin where the one before it ends");
      }
      if (file.length > kMaxBytes - end) {
        return Senseless("file", chunk.first_file + i, "is too long");
      }
      end += file.length;
    }
    if (end != chunk.bytes) {
      return Senseless("chunk", c, "is not as long as its files together");
    }
  }
  return absl::OkStatus();
}

absl::Status FillChecksAndPaths(PackManifest& manifest) {
  uint64_t next_check = 0;
  uint64_t next_path = 0;
  for (uint64_t i = 0; i < manifest.files.size(); ++i) {
    PackManifest::File& file = manifest.files[i];
    if (PackChecksOf(file.length) > manifest.checks.size() - next_check) {
      return Senseless("file", i, "has too few checksums");
    }
    file.first_check = next_check;
    next_check += PackChecksOf(file.length);
    const size_t end = manifest.paths.find('\0', next_path);
    if (end == std::string::npos) return Senseless("file", i, "has no path");
    file.path_at = next_path;
    if (!IsRelativeAndClean(manifest.path(file))) {
      return Senseless("file", i, "has a path that leaves the source");
    }
    next_path = end + 1;
  }
  if (next_check != manifest.checks.size() ||
      next_path != manifest.paths.size()) {
    return absl::DataLossError(
        "there are checksums or paths that belong to no file");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t PackCheck(absl::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t PackCheckOf(const IoBuf& bytes, uint64_t offset, uint64_t length) {
  uint64_t check = 0;
  XXH3_state_t* state = nullptr;  // only if there are several pieces
  bytes.ForEach(offset, length, [&](absl::Span<char> piece) {
    if (piece.size() == length) {
      check = PackCheck(absl::string_view(piece.data(), length));
      return;
    }
    if (state == nullptr) {
      state = XXH3_createState();
      XXH3_64bits_reset(state);
    }
    XXH3_64bits_update(state, piece.data(), piece.size());
  });
  if (state == nullptr) return check;
  check = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return check;
}

uint64_t PackManifest::bytes() const {
  uint64_t sum = 0;
  for (const Chunk& chunk : chunks) sum += chunk.bytes;
  return sum;
}

std::string PackChunkName(uint32_t chunk) {
  return absl::StrFormat("%s%06d%s", kChunkPrefix, chunk, kChunkSuffix);
}

absl::optional<uint32_t> ParsePackChunkName(absl::string_view name) {
  if (!absl::StartsWith(name, kChunkPrefix)) return absl::nullopt;
  absl::string_view digits = name.substr(sizeof kChunkPrefix - 1);
  if (!absl::EndsWith(digits, kChunkSuffix)) return absl::nullopt;
  digits.remove_suffix(sizeof kChunkSuffix - 1);
  uint32_t chunk = 0;
  // The second test refuses what SimpleAtoi accepts: signs, spaces, leading
  // zeros.
  if (!absl::SimpleAtoi(digits, &chunk) || PackChunkName(chunk) != name) {
    return absl::nullopt;
  }
  return chunk;
}

std::string SerializeManifest(const PackManifest& manifest) {
  std::vector<FiledChunk> chunks;
  for (const PackManifest::Chunk& chunk : manifest.chunks) {
    chunks.push_back({chunk.bytes, chunk.file_count});
  }
  std::vector<FiledFile> files;
  files.reserve(manifest.files.size());
  for (const PackManifest::File& file : manifest.files) {
    files.push_back({file.offset, file.length});
  }
  PackHeader header = {};
  header.fingerprint = manifest.fingerprint;
  header.state = manifest.state;
  header.seed = manifest.seed;
  header.chunk_size = manifest.chunk_size;
  header.chunks = chunks.size();
  header.files = files.size();
  header.checks = manifest.checks.size();
  header.path_bytes = manifest.paths.size();
  return absl::StrJoin(
      SealedPieces(kPackFormat, header,
                   {ColumnBytes(chunks), ColumnBytes(files),
                    ColumnBytes(manifest.checks), manifest.paths}),
      "");
}

absl::StatusOr<PackManifest> ParseManifest(absl::string_view bytes) {
  PackHeader header;
  std::vector<FiledChunk> chunks;
  std::vector<FiledFile> files;
  PackManifest manifest;
  CheckedReader reader(kPackFormat, bytes);
  RETURN_IF_ERROR(reader.ReadHeader(header));
  reader.Take(header.chunks, chunks);
  reader.Take(header.files, files);
  reader.Take(header.checks, manifest.checks);
  reader.Take(header.path_bytes, manifest.paths);
  RETURN_IF_ERROR(reader.Finish());
  manifest.fingerprint = header.fingerprint;
  manifest.state = header.state;
  manifest.seed = header.seed;
  manifest.chunk_size = header.chunk_size;
  manifest.files.reserve(files.size());
  for (const FiledFile& file : files) {
    manifest.files.push_back({file.offset, file.length, 0, 0});
  }
  RETURN_IF_ERROR(FillChunks(chunks, manifest));
  RETURN_IF_ERROR(CheckPlaces(manifest));
  RETURN_IF_ERROR(FillChecksAndPaths(manifest));
  return manifest;
}

}  // namespace shufflefs
