// SPDX-License-Identifier: Apache-2.0
// Directories of the daemon's own, and the files in them. Nobody but this user
// and root can have put anything there, and nobody else can lead the daemon to
// another place: a directory is reached step by step, its descriptor is held,
// and the files are named relative to that. No link in it is ever followed.
#ifndef SHUFFLEFS_CORE_BASE_FILES_OWNED_DIR_H_
#define SHUFFLEFS_CORE_BASE_FILES_OWNED_DIR_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Constant after construction; copies share the descriptor.
class OwnedDir {
 public:
  // Opens the directory at `path`, and makes it (0700) with what is missing
  // above it. Errors, naming the step that was refused, with EPERM:
  //  * the directory is not ours, or others may write to it;
  //  * one above it belongs to somebody who is not root;
  //  * others may write to one above it that they can reach, unless its sticky
  //    bit keeps them from replacing what is ours;
  //  * a link above it belongs to somebody else.
  // ELOOP where the directory itself is a link. Others carry their errno.
  static absl::StatusOr<OwnedDir> Make(const std::string& path);

  // The directory `name` in the open directory `above`, which is made (0700) if
  // there is none. `path` names it in messages. Errors: EPERM where it is not
  // ours or others may write to it; the errno.
  static absl::StatusOr<OwnedDir> In(int above, const std::string& name,
                                     std::string path);
  absl::StatusOr<OwnedDir> Sub(const std::string& name) const;

  int fd() const { return fd_->get(); }
  std::shared_ptr<const UniqueFd> shared_fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  OwnedDir(UniqueFd fd, std::string path)
      : fd_(std::make_shared<const UniqueFd>(std::move(fd))),
        path_(std::move(path)) {}

  std::shared_ptr<const UniqueFd> fd_;
  std::string path_;
};

// Where a file is: a name in a directory of ours, or any path. The last
// component is never followed if it is a link.
class FilePlace {
 public:
  FilePlace() = default;                                   // nowhere
  FilePlace(std::string path) : name_(std::move(path)) {}  // NOLINT: implicit
  FilePlace(const char* path) : name_(path) {}             // NOLINT: implicit
  FilePlace(OwnedDir dir, std::string name)
      : dir_(std::make_shared<const OwnedDir>(std::move(dir))),
        name_(std::move(name)) {}

  bool empty() const { return name_.empty(); }
  std::string path() const;  // for messages
  // The place beside it whose name ends in `suffix`.
  FilePlace With(absl::string_view suffix) const;

  // Opens a regular file; O_CLOEXEC, O_NOFOLLOW and O_NONBLOCK are always set.
  // A file that is made has mode 0600. Errors, naming the path: the errno
  // (ENOENT, ELOOP for a link); InvalidArgument where it is no regular file;
  // EPERM where it lies in a directory of ours and belongs to somebody else.
  absl::StatusOr<UniqueFd> Open(int flags) const;
  // OK where there is none.
  absl::Status Remove() const;
  // Renames the file to `to`, which is replaced. The same directory.
  absl::Status RenameTo(const FilePlace& to) const;
  // The names of its directory on the device.
  absl::Status SyncNames() const;

 private:
  int above() const;  // for openat

  std::shared_ptr<const OwnedDir> dir_;  // null: name_ is a path
  std::string name_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_OWNED_DIR_H_
