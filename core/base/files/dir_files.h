// SPDX-License-Identifier: Apache-2.0
// The files of one directory that this process writes to: what packs, aligned
// copies and the tier have in common. Names are relative to a descriptor that
// is held, and no link is followed.
#ifndef SHUFFLEFS_CORE_BASE_FILES_DIR_FILES_H_
#define SHUFFLEFS_CORE_BASE_FILES_DIR_FILES_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Constant after construction; copies share the descriptor, and its lock. Any
// thread may call; every method may block for the device. Errors name the file
// and carry the errno.
class DirFiles {
 public:
  // Opens the directory, and makes it if there is none (its parent must be
  // there). `outside`: an open directory that it must not be or lie in; -1:
  // none. Errors: InvalidArgument where it lies in that.
  static absl::StatusOr<DirFiles> Open(const std::string& path, int outside);
  explicit DirFiles(const OwnedDir& dir);

  int fd() const { return fd_->get(); }
  const std::string& path() const { return path_; }
  // Of a file in it, for messages.
  std::string PathOf(absl::string_view name) const;

  // No other process gets the lock while a copy of this is there. Errors:
  // FailedPrecondition, which ends in `why`, where another has it. Where the
  // file system knows no locks there is none.
  absl::Status Lock(absl::string_view why) const;
  // All names, in no order, but those that every directory has, or the root of
  // a fresh ext4 (lost+found).
  absl::StatusOr<std::vector<std::string>> Names() const;
  // Nothing where there is none.
  absl::StatusOr<absl::optional<struct stat>> Stat(
      absl::string_view name) const;
  // A regular file. Errors: also EINVAL where it is none.
  absl::StatusOr<UniqueFd> OpenFile(absl::string_view name, int flags) const;
  // A new file for writing, with `bytes` bytes of space: one extent, and a full
  // device is known before the work. Errors: EEXIST.
  absl::StatusOr<UniqueFd> Create(absl::string_view name, uint64_t bytes,
                                  mode_t mode) const;
  // Replaces a file that is called `to`.
  absl::Status Rename(absl::string_view from, absl::string_view to) const;
  // OK where there is none.
  absl::Status Remove(absl::string_view name) const;
  // The names on the device.
  absl::Status SyncNames() const;
  // What is free for this process.
  absl::StatusOr<uint64_t> FreeBytes() const;

 private:
  DirFiles(std::string path, UniqueFd fd)
      : path_(std::move(path)),
        fd_(std::make_shared<const UniqueFd>(std::move(fd))) {}

  std::string path_;
  std::shared_ptr<const UniqueFd> fd_;
};

// Whether they are of one file.
inline bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_DIR_FILES_H_
