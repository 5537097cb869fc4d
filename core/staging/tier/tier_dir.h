// SPDX-License-Identifier: Apache-2.0
// The directory of one view in the performance tier:
//
//   <path>/shufflefs-tier/          ours, of one process at a time
//     .lock                         says which process, and is locked by it
//     <view>/                       parts (tier_part.h), locked by one Tier
//
// Only regular files in <view>/ whose names are exactly those of parts are
// ever read or removed. Nothing else in any of these is touched.
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
#include "core/base/files/unique_fd.h"
#include "core/source/source_dir.h"
#include "core/staging/tier/tier_part.h"

namespace shufflefs {

// Below the user's directory; all that is ours lies in it.
inline constexpr char kTierDirectory[] = "shufflefs-tier";

// One thread at a time, but for files(). Every method may block for the
// device. Errors name the file and carry the errno.
class TierDir {
 public:
  // Makes what is missing below `path`, which must be there, and locks it for
  // as long as the object lives. Errors: FailedPrecondition where another
  // process, or another Tier of this view, uses it; EPERM where what is there
  // belongs to somebody else, who could have made any part.
  static absl::StatusOr<TierDir> Open(const std::string& path,
                                      absl::string_view view);
  TierDir(TierDir&&) = default;
  TierDir& operator=(TierDir&&) = default;

  // The parts, by TierPartName: for a FileReader.
  const SourceDir& files() const { return files_; }

  // Whether the names still lead here; not after a directory was removed or a
  // file system unmounted. Errors: ENOENT, ESTALE, what stat gives.
  absl::Status StillThere() const;
  // `path` is the root of a file system.
  bool on_mountpoint() const { return on_mountpoint_; }

  absl::StatusOr<std::vector<TierName>> List() const;
  struct Part {
    uint64_t bytes = 0;
    TierTable table;
  };
  // Errors: also those of ParseTierTail.
  absl::StatusOr<Part> Read(uint64_t id) const;
  // A part that has no name as such yet, for writing, with `bytes` bytes of
  // space. With O_DIRECT where that is taken.
  absl::StatusOr<UniqueFd> Create(uint64_t id, uint64_t bytes);
  absl::Status Publish(uint64_t id);
  // OK where there is none.
  absl::Status Remove(TierName name);
  // What is free for this process.
  absl::StatusOr<uint64_t> FreeBytes() const { return own_.FreeBytes(); }

 private:
  TierDir(DirFiles own, SourceDir files, UniqueFd lock, bool on_mountpoint)
      : own_(std::move(own)),
        files_(std::move(files)),
        lock_(std::move(lock)),
        on_mountpoint_(on_mountpoint) {}

  DirFiles own_;  // the view's directory, which is locked
  SourceDir files_;
  UniqueFd lock_;  // of the directory above it
  bool on_mountpoint_;
};

// Whether `path` is the root of a file system. Errors: the errno.
absl::StatusOr<bool> IsMountpoint(const std::string& path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_DIR_H_
