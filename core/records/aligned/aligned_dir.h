// SPDX-License-Identifier: Apache-2.0
// The directory that page-aligned files are written to, and how far an earlier
// run came. Nothing that such a run did not write is ever touched.
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

// One thread. Every method blocks for the device. Errors name the file; those
// of the system carry their errno.
class AlignedDir {
 public:
  // Opens it, and makes it if there is none (its parent must be there). While
  // the object lives no other process gets one for it. `source`: a directory
  // that is not written to, or "". InvalidArgument where it is `source` or lies
  // within; FailedPrecondition where another process has it.
  static absl::StatusOr<AlignedDir> Open(const std::string& path,
                                         const std::string& source);

  const std::string& path() const { return files_.path(); }
  std::string PathOf(absl::string_view name) const {
    return files_.PathOf(name);
  }

  // What an earlier run left: finished, if that manifest is there. Nothing for
  // an empty directory. As AlignedManifest::Parse.
  absl::StatusOr<absl::optional<AlignedManifest>> Load();
  bool finished() const { return finished_; }

  // FailedPrecondition, naming it, if there is anything that is no part of
  // `known`, nor was left behind while one of `planned` was written.
  absl::Status RefuseForeign(const absl::optional<AlignedManifest>& known,
                             const std::set<std::string>& planned) const;
  // Removes the files of `known`, the manifest first.
  absl::Status Clear(const AlignedManifest& known);

  // The manifest of a run that is not finished.
  absl::Status Save(const AlignedManifest& manifest);
  // Gives the files of an entry that was saved their names, if they have not
  // got them yet. As CheckAlignedFile.
  absl::Status Publish(const AlignedFile& file);
  // Everything that was saved is there: the manifest gets its name.
  absl::Status Finish();

 private:
  explicit AlignedDir(DirFiles files) : files_(std::move(files)) {}
  absl::Status PublishOne(absl::string_view name);

  DirFiles files_;  // locked
  bool finished_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_DIR_H_
