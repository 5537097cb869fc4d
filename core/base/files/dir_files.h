// SPDX-License-Identifier: Apache-2.0
// DirFiles accesses the files of one directory that this process writes to.
// Packs, aligned copies and the tier share it. Names are relative to an open
// descriptor, and no link is followed.
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

// Constant after construction. Copies share the descriptor and its lock. Any
// thread may call. Every method may block on the device. Errors name the file
// and carry the errno.
class DirFiles {
 public:
  // Opens the directory, and makes it if there is none (its parent must exist).
  // `outside` is an open directory; the opened one must be neither it nor below
  // it. -1: none. Errors: InvalidArgument if it is.
  static absl::StatusOr<DirFiles> Open(const std::string& path, int outside);
  explicit DirFiles(const OwnedDir& dir);

  int fd() const { return fd_->get(); }
  const std::string& path() const { return path_; }
  // The path of a file in it, for messages.
  std::string PathOf(absl::string_view name) const;

  // No other process gets the lock while a copy of this object exists. Errors:
  // FailedPrecondition, with a text that ends in `why`, if another process has
  // the lock. If the file system knows no locks, nothing is locked.
  absl::Status Lock(absl::string_view why) const;
  // All names in no particular order. Leaves out the names that every directory
  // has, and that of the root of a fresh ext4 (lost+found).
  absl::StatusOr<std::vector<std::string>> Names() const;
  // Empty if there is no such file.
  absl::StatusOr<absl::optional<struct stat>> Stat(
      absl::string_view name) const;
  // Opens a regular file. Errors: also EINVAL if it is not regular.
  absl::StatusOr<UniqueFd> OpenFile(absl::string_view name, int flags) const;
  // Makes a new file for writing and reserves `bytes` bytes. So the file is one
  // extent, and a full device is detected before the work. Errors: EEXIST.
  absl::StatusOr<UniqueFd> Create(absl::string_view name, uint64_t bytes,
                                  mode_t mode) const;
  // Replaces `to` if it exists.
  absl::Status Rename(absl::string_view from, absl::string_view to) const;
  // OK if there is no such file.
  absl::Status Remove(absl::string_view name) const;
  // Writes the names to the device.
  absl::Status SyncNames() const;
  // Bytes that are free for this process.
  absl::StatusOr<uint64_t> FreeBytes() const;

 private:
  DirFiles(std::string path, UniqueFd fd)
      : path_(std::move(path)),
        fd_(std::make_shared<const UniqueFd>(std::move(fd))) {}

  std::string path_;
  std::shared_ptr<const UniqueFd> fd_;
};

// Returns whether both are of one file.
inline bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_DIR_FILES_H_
