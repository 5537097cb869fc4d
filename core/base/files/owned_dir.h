// SPDX-License-Identifier: Apache-2.0
// Directories that belong to the daemon, and the files in them. Only this user
// and root can have put anything there, and nobody else can lead the daemon to
// another place. The daemon walks to a directory step by step, holds its
// descriptor, and names files relative to it. It never follows a link in it.
#ifndef SHUFFLEFS_CORE_BASE_FILES_OWNED_DIR_H_
#define SHUFFLEFS_CORE_BASE_FILES_OWNED_DIR_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Constant after construction. Copies share the descriptor.
class OwnedDir {
 public:
  // Opens the directory at `path`. Makes it (0700), with everything that is
  // missing above it. These cases are refused with EPERM, and the error names
  // the step:
  // * The directory is not ours, or others may write to it.
  // * A directory above it belongs to somebody who is not root.
  // * Others can reach a directory above it and may write to it, unless its
  //   sticky bit keeps them from replacing what is ours.
  // * A link above it belongs to somebody else.
  //
  // Errors: also ELOOP if the directory itself is a link. All others carry
  // their errno.
  static absl::StatusOr<OwnedDir> Make(const std::string& path);

  // The directory `name` in the open directory `above`. Makes it (0700) if
  // there is none. `path` names it in messages. Errors: EPERM if it is not ours
  // or others may write to it; else the errno.
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

// Opens the regular file at `path` to read it, if only root, the user of this
// process and `also` can have put it there. Makes nothing, and follows links of
// these users. Errors: EPERM, which names the step, by the rules of
// OwnedDir::Make; also if others may write to the file. EINVAL: it is no
// regular file. Else the errno.
absl::StatusOr<UniqueFd> OpenTrustedFile(
    const std::string& path, absl::optional<uid_t> also = absl::nullopt);

// OK if only root, the user of this process and `also` can have put anything
// into the directory that is open as `fd`. By which path it was opened does not
// count. Errors: EPERM, which names `path`; else the errno.
absl::Status CheckTrustedDir(int fd, const std::string& path,
                             absl::optional<uid_t> also = absl::nullopt);

// The location of a file: a name in an OwnedDir, or any path. If the last
// component is a link, it is never followed.
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
  // The location beside it whose name ends in `suffix`.
  FilePlace With(absl::string_view suffix) const;

  // Opens a regular file. O_CLOEXEC, O_NOFOLLOW and O_NONBLOCK are always set.
  // A new file has mode 0600. Errors, which name the path: the errno (ENOENT,
  // ELOOP for a link); InvalidArgument if it is no regular file; EPERM if it is
  // in a directory of ours and belongs to somebody else.
  absl::StatusOr<UniqueFd> Open(int flags) const;
  // Does not follow a link. Errors: the errno.
  absl::StatusOr<struct stat> Stat() const;
  // OK if there is no such file.
  absl::Status Remove() const;
  // Renames the file to `to` in the same directory, and replaces that.
  absl::Status RenameTo(const FilePlace& to) const;
  // Writes the names of its directory to the device.
  absl::Status SyncNames() const;

 private:
  int above() const;  // the descriptor for openat

  std::shared_ptr<const OwnedDir> dir_;  // null: name_ is a path
  std::string name_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_OWNED_DIR_H_
