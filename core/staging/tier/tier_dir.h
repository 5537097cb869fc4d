// SPDX-License-Identifier: Apache-2.0
// TierDir is the directory of one view in the performance tier:
//
//   <path>/shufflefs-tier/          ours; one process at a time uses it
//     .lock                         names that process, which has locked it
//     <view>/                       parts (tier_part.h), locked by one Tier
//
// shufflefs reads and removes only regular files in <view>/ whose names are
// exactly those of parts. It touches nothing else in these directories.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_DIR_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_DIR_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/dir_files.h"
#include "core/base/files/reach.h"
#include "core/base/files/unique_fd.h"
#include "core/source/source_dir.h"
#include "core/staging/tier/tier_part.h"

namespace shufflefs {

// Below the user's directory. It contains everything that is ours.
inline constexpr char kTierDirectory[] = "shufflefs-tier";

// One thread at a time, except for files(). Every method may block on the
// device. Errors name the file and carry the errno.
class TierDir {
 public:
  // Creates what is missing below `path`, which must exist, and locks it while
  // the object lives. Opens it as `reach` says. Errors: FailedPrecondition if
  // another process, or another Tier of this view, uses it; EPERM if what is
  // there belongs to another user, who could have made any part.
  static absl::StatusOr<TierDir> Open(const std::string& path,
                                      absl::string_view view,
                                      const PathReach& reach = {});
  // The name of the view's directory. Never that of the lock.
  static std::string NameOf(absl::string_view view);
  TierDir(TierDir&&) = default;
  TierDir& operator=(TierDir&&) = default;

  // The directory of the parts, for a FileReader. Their names are TierPartName.
  const SourceDir& files() const { return files_; }

  // Returns OK if the names still lead to this directory. They do not after a
  // directory was removed or a file system was unmounted. Errors: ENOENT,
  // ESTALE, errors of stat.
  absl::Status StillThere() const;
  // Returns whether `path` is the root of a file system.
  bool on_mountpoint() const { return on_mountpoint_; }

  absl::StatusOr<std::vector<TierName>> List() const;
  struct Part {
    uint64_t bytes = 0;
    TierTable table;
  };
  // Errors: also those of ParseTierTail.
  absl::StatusOr<Part> Read(uint64_t id) const;
  // Creates a part for writing, with `bytes` bytes of space. It has no part's
  // name until Publish. Uses O_DIRECT if the file system accepts it.
  absl::StatusOr<UniqueFd> Create(uint64_t id, uint64_t bytes);
  absl::Status Publish(uint64_t id);
  // OK if there is no such file.
  absl::Status Remove(TierName name);
  // The free bytes that this process may use.
  absl::StatusOr<uint64_t> FreeBytes() const { return own_.FreeBytes(); }

 private:
  TierDir(DirFiles own, SourceDir files, UniqueFd lock, PathReach reach,
          bool on_mountpoint)
      : own_(std::move(own)),
        files_(std::move(files)),
        lock_(std::move(lock)),
        reach_(std::move(reach)),
        on_mountpoint_(on_mountpoint) {}

  DirFiles own_;  // the view's directory, which is locked
  SourceDir files_;
  UniqueFd lock_;    // of the directory above it
  PathReach reach_;  // opens own_ by its name
  bool on_mountpoint_;
};

// Returns whether `path` is the root of a file system. Errors: the errno.
absl::StatusOr<bool> IsMountpoint(const std::string& path,
                                  const PathReach& reach);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_DIR_H_
