// SPDX-License-Identifier: Apache-2.0
// PackIndex is a finished pack that is ready to be read. It knows where each
// file of a catalogue is in the pack, and which checksums its bytes must have.
//
// Thread-safe: nothing changes after Open. Only Open does I/O.
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

// Opens the directory of a pack at `path`, by the path `reached` (as
// SourceDir). Who writes there decides what others read. So it must belong to
// root, to the user of this process or to the owner of `source`, and nobody
// else may write to it. Errors: EPERM if not; else the errno.
absl::StatusOr<SourceDir> OpenPackDir(const std::string& path,
                                      const std::string& reached,
                                      const SourceDir& source);

class PackIndex {
 public:
  struct Place {
    uint32_t chunk = 0;
    uint64_t offset = 0;                // bytes, in the chunk
    uint64_t length = 0;                // bytes
    absl::Span<const uint64_t> checks;  // PackChecksOf(length); in the index
  };

  // Opens the pack in `dir`, which must be a pack of the catalogue's dataset.
  // Reads the manifest and stats each chunk once; blocks. Every error names the
  // directory or the file. FailedPrecondition: there is no pack, it is
  // unfinished, or it is of another dataset or of another state of the dataset.
  // DataLoss: the manifest is damaged, or the size of a chunk differs from the
  // manifest. Also errors of open, read and stat.
  static absl::StatusOr<std::shared_ptr<const PackIndex>> Open(
      const SourceDir& dir, std::shared_ptr<const Catalogue> catalogue);

  const Catalogue& catalogue() const { return *catalogue_; }
  // Nothing if the pack lacks the file.
  absl::optional<Place> Find(EntryId file) const;

  uint32_t chunk_count() const {
    return static_cast<uint32_t>(attributes_.size());
  }
  // The files of a chunk, in the order of their bytes.
  absl::Span<const EntryId> files(uint32_t chunk) const;
  // The attributes when the index was opened. The size is that of the manifest.
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
  std::vector<EntryId> files_;        // in the same order
  std::vector<uint32_t> first_file_;  // by chunk, and one past the last
  std::vector<uint64_t> checks_;
  std::vector<FileAttributes> attributes_;  // by chunk
  uint64_t bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_INDEX_H_
