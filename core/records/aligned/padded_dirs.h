// SPDX-License-Identifier: Apache-2.0
// PaddedDirs knows the files of a view that are padded to pages, from the
// manifests in its directories (aligned_manifest.h).
#ifndef SHUFFLEFS_CORE_RECORDS_ALIGNED_PADDED_DIRS_H_
#define SHUFFLEFS_CORE_RECORDS_ALIGNED_PADDED_DIRS_H_

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/records/aligned/aligned_manifest.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Immutable; any thread may call. Only Load blocks.
class PaddedDirs {
 public:
  // Reads the manifest of every directory below `root` that has one.
  static std::shared_ptr<const PaddedDirs> Load(
      const SourceDir& source, std::shared_ptr<const Catalogue> catalogue,
      DirId root);

  bool empty() const { return dirs_.empty(); }

  struct Padded {
    const AlignedFile* file = nullptr;  // owned by this object
    EntryId index;                      // the index beside it
  };
  // Empty: the file is not padded, as far as is known. FailedPrecondition, with
  // the reason: it may be padded, but the manifest cannot be read or makes no
  // sense, or the file or its index is not the one that was written. The same
  // if the manifest or the index belongs neither to the file's owner nor to
  // root nor to the user of this process.
  absl::StatusOr<absl::optional<Padded>> Find(EntryId file) const;

 private:
  explicit PaddedDirs(std::shared_ptr<const Catalogue> catalogue);

  // Constant after Load.
  const std::shared_ptr<const Catalogue> catalogue_;
  absl::flat_hash_map<DirId, absl::StatusOr<AlignedManifest>> dirs_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_PADDED_DIRS_H_
