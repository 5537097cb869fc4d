// SPDX-License-Identifier: Apache-2.0
// AlignedDir is the directory to which page-aligned files are written, with the
// progress of an earlier run. It never touches a file that such a run did not
// write.
#ifndef SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_DIR_H_
#define SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_DIR_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/dir_files.h"
#include "core/records/aligned/aligned_manifest.h"

namespace shufflefs {

// One thread. Every method blocks on the device. Errors name the file; those of
// the system carry their errno.
class AlignedDir {
 public:
  // Opens the directory, or makes it (its parent must exist). While the object
  // lives, no other process gets one for it. `source` is a directory that is
  // not written to, or "". InvalidArgument if the directory is `source` or is
  // inside it; FailedPrecondition if another process has it.
  static absl::StatusOr<AlignedDir> Open(const std::string& path,
                                         const std::string& source);

  const std::string& path() const { return files_.path(); }
  std::string PathOf(absl::string_view name) const {
    return files_.PathOf(name);
  }

  // The manifest that an earlier run left. It is finished if the final manifest
  // exists. Empty for an empty directory. Errors: those of
  // AlignedManifest::Parse.
  absl::StatusOr<absl::optional<AlignedManifest>> Load();
  bool finished() const { return finished_; }

  // FailedPrecondition, naming the file, if there is a file that neither is
  // part of `known` nor was left while one of `planned` was written.
  absl::Status RefuseForeign(const absl::optional<AlignedManifest>& known,
                             const std::set<std::string>& planned) const;
  // Removes the files of `known`, the manifest first.
  absl::Status Clear(const AlignedManifest& known);

  // Saves the manifest of an unfinished run.
  absl::Status Save(const AlignedManifest& manifest);
  // Gives the files of a saved entry their names, unless they have them
  // already. Errors: those of CheckAlignedFile.
  absl::Status Publish(const AlignedFile& file);
  // Everything was saved: gives the manifest its name.
  absl::Status Finish();

 private:
  explicit AlignedDir(DirFiles files) : files_(std::move(files)) {}
  absl::Status PublishOne(absl::string_view name);

  DirFiles files_;  // locked
  bool finished_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_DIR_H_
