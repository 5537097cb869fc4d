// SPDX-License-Identifier: Apache-2.0
// BackedSource opens files of the source that the kernel is to read by itself.
// It reaches the source by a mount of its own, which nobody else sees. That
// mount is read-only, and reads through it change no access time.
#ifndef SHUFFLEFS_FS_BACKING_BACKED_SOURCE_H_
#define SHUFFLEFS_FS_BACKING_BACKED_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/files/unique_fd.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Thread-safe.
class BackedSource {
 public:
  // The message of an error says in one clause why the kernel cannot read files
  // of this source by itself.
  static absl::StatusOr<std::unique_ptr<BackedSource>> Make(
      const SourceDir& source);

  // Opens `file` and takes a lease on it. May block on the source. Errors: as
  // CheckUnchanged's and TakeLease's; those of open.
  absl::StatusOr<UniqueFd> Open(const Catalogue& catalogue, EntryId file) const;

 private:
  BackedSource(UniqueFd mount, SourceDir source);

  const UniqueFd mount_;  // unmounted when this is closed
  const SourceDir source_;
};

// Opens the file of `fd` once more, for reading, through the same mount.
absl::StatusOr<UniqueFd> OpenAgain(int fd);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_BACKING_BACKED_SOURCE_H_
