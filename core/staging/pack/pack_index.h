// SPDX-License-Identifier: Apache-2.0
// A finished pack, ready to be read from: where each file of a catalogue lies
// in it, and what its bytes must be.
//
// Thread-safe: nothing changes after it was opened. Only Open does I/O.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_INDEX_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"
#include "core/staging/pack/pack_format.h"

namespace shufflefs {

class PackIndex {
 public:
  struct Place {
    uint32_t chunk = 0;
    uint64_t offset = 0;                // bytes, in the chunk
    uint64_t length = 0;                // bytes
    absl::Span<const uint64_t> checks;  // PackChecksOf(length); the index's
  };

  // Opens the pack in `dir`, which must be one of the catalogue's dataset.
  // Reads the manifest and looks at each chunk once; blocks. Errors, each
  // naming the directory or the file: FailedPrecondition where there is no
  // pack, an unfinished one, or that of another dataset or of another state of
  // it; DataLoss where the manifest is damaged or a chunk has not the size
  // that the manifest says; what open, read and stat give.
  static absl::StatusOr<std::shared_ptr<const PackIndex>> Open(
      const SourceDir& dir, std::shared_ptr<const Catalogue> catalogue);

  const Catalogue& catalogue() const { return *catalogue_; }
  // Nothing where the pack does not have the file.
  absl::optional<Place> Find(EntryId file) const;

  uint32_t chunk_count() const {
    return static_cast<uint32_t>(attributes_.size());
  }
  // The files of a chunk, one behind the other.
  absl::Span<const EntryId> files(uint32_t chunk) const;
  // As it was when the index was opened; its size is that of the manifest.
  const FileAttributes& chunk_attributes(uint32_t chunk) const {
    return attributes_[chunk];
  }

  uint64_t file_count() const { return files_.size(); }
  uint64_t bytes() const { return bytes_; }  // of all chunks
  uint64_t memory_bytes() const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct Row {
    uint64_t offset = 0;
    uint64_t first_check = 0;
    uint32_t chunk = 0;
  };
  explicit PackIndex(std::shared_ptr<const Catalogue> catalogue)
      : catalogue_(std::move(catalogue)) {}
  absl::Status TakeFiles(const PackManifest& manifest);
  absl::Status LookAtChunks(const SourceDir& dir, const PackManifest& manifest);

  // Constant after Open.
  const std::shared_ptr<const Catalogue> catalogue_;
  std::vector<uint32_t> row_of_;      // by entry: index in rows_, or kNone
  std::vector<Row> rows_;             // chunk by chunk
  std::vector<EntryId> files_;        // the same
  std::vector<uint32_t> first_file_;  // by chunk, and one behind the last
  std::vector<uint64_t> checks_;
  std::vector<FileAttributes> attributes_;  // by chunk
  uint64_t bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_INDEX_H_
