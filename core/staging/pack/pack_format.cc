// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_format.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the columns are copied as they are");

constexpr char kMagic[8] = {'S', 'H', 'U', 'F', 'P', 'A', 'K', '\n'};
constexpr uint32_t kVersion = 2;
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;
constexpr char kChunkPrefix[] = "chunk-";
constexpr char kChunkSuffix[] = ".pack";

// The file: this, then `chunks` FiledChunk, `files` FiledFile, `checks` words
// and `path_bytes` bytes.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t checksum;  // of all that follows
  uint64_t fingerprint;
  uint64_t state;
  uint64_t seed;
  uint64_t chunk_size;
  uint64_t chunks;
  uint64_t files;
  uint64_t checks;
  uint64_t path_bytes;
};
static_assert(offsetof(Header, checksum) == kPackChecksumAt);
static_assert(std::has_unique_object_representations_v<Header>);
constexpr size_t kCoveredFrom = kPackChecksumAt + sizeof(uint64_t);

struct FiledChunk {
  uint64_t bytes;
  uint64_t files;
};

struct FiledFile {
  uint64_t offset;
  uint64_t length;
};

template <typename T>
void AppendColumn(const std::vector<T>& column, std::string& out) {
  if (column.empty()) return;
  out.append(reinterpret_cast<const char*>(column.data()),
             column.size() * sizeof(T));
}

// Takes `count` values from the front of `bytes`, which holds them.
template <typename T>
std::vector<T> TakeColumn(uint64_t count, absl::string_view& bytes) {
  std::vector<T> column(count);
  const size_t size = count * sizeof(T);
  if (size > 0) std::memcpy(column.data(), bytes.data(), size);
  bytes.remove_prefix(size);
  return column;
}

// Whether the counts that the header claims are those of the file. Nothing is
// allocated before this is known.
bool SizesFit(const Header& h, size_t file_bytes) {
  if (h.files > std::numeric_limits<uint32_t>::max() || h.chunks > h.files ||
      h.checks > file_bytes || h.path_bytes > file_bytes) {
    return false;
  }
  return sizeof(Header) + h.chunks * sizeof(FiledChunk) +
             h.files * sizeof(FiledFile) + h.checks * sizeof(uint64_t) +
             h.path_bytes ==
         file_bytes;
}

absl::Status CheckHeader(const Header& header, absl::string_view bytes) {
  if (header.version != kVersion || header.header_bytes != sizeof header) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a manifest of version ", header.version, ", not ", kVersion));
  }
  if (!SizesFit(header, bytes.size())) {
    return absl::DataLossError("cut off, or not as long as its header says");
  }
  absl::string_view covered = bytes.substr(kCoveredFrom);
  if (XXH3_64bits(covered.data(), covered.size()) != header.checksum) {
    return absl::DataLossError("the checksum differs");
  }
  return absl::OkStatus();
}

// As SourceDir takes them.
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

// Gives each chunk its files; together they must be all files.
absl::Status FillChunks(const std::vector<FiledChunk>& filed,
                        PackManifest& manifest) {
  uint64_t next = 0;
  for (const FiledChunk& chunk : filed) {
    if (chunk.files == 0 || chunk.files > manifest.files.size() - next) {
      return Senseless("chunk", manifest.chunks.size(),
                       "its number of files makes no sense");
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

// Each file must begin where the one before it ends, the first of a chunk at
// 0, and the last end with the chunk: none overlaps or lies outside.
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
    return absl::DataLossError("there are checksums or paths of no file");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t PackCheck(absl::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
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
  // The second test refuses what SimpleAtoi forgives: signs, spaces, zeros.
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
  Header header = {};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  header.version = kVersion;
  header.header_bytes = sizeof header;
  header.fingerprint = manifest.fingerprint;
  header.state = manifest.state;
  header.seed = manifest.seed;
  header.chunk_size = manifest.chunk_size;
  header.chunks = chunks.size();
  header.files = files.size();
  header.checks = manifest.checks.size();
  header.path_bytes = manifest.paths.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  AppendColumn(chunks, bytes);
  AppendColumn(files, bytes);
  AppendColumn(manifest.checks, bytes);
  bytes += manifest.paths;
  const uint64_t checksum =
      XXH3_64bits(bytes.data() + kCoveredFrom, bytes.size() - kCoveredFrom);
  std::memcpy(bytes.data() + kPackChecksumAt, &checksum, sizeof checksum);
  return bytes;
}

absl::StatusOr<PackManifest> ParseManifest(absl::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return absl::InvalidArgumentError("not the manifest of a pack");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  RETURN_IF_ERROR(CheckHeader(header, bytes));
  bytes.remove_prefix(sizeof header);
  PackManifest manifest;
  manifest.fingerprint = header.fingerprint;
  manifest.state = header.state;
  manifest.seed = header.seed;
  manifest.chunk_size = header.chunk_size;
  const auto chunks = TakeColumn<FiledChunk>(header.chunks, bytes);
  manifest.files.reserve(header.files);
  for (const FiledFile& file : TakeColumn<FiledFile>(header.files, bytes)) {
    manifest.files.push_back({file.offset, file.length, 0, 0});
  }
  manifest.checks = TakeColumn<uint64_t>(header.checks, bytes);
  manifest.paths = std::string(bytes);
  RETURN_IF_ERROR(FillChunks(chunks, manifest));
  RETURN_IF_ERROR(CheckPlaces(manifest));
  RETURN_IF_ERROR(FillChecksAndPaths(manifest));
  return manifest;
}

}  // namespace shufflefs
