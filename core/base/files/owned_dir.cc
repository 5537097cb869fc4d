// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/owned_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr int kHold = O_PATH | O_NOFOLLOW | O_CLOEXEC;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int kMostLinks = 40;  // the kernel's own limit
constexpr uid_t kOverflow = 65534;

absl::Status Refuse(const std::string& path, absl::string_view why) {
  return ErrnoStatus(EPERM, absl::StrCat(path, ": ", why));
}

// `error` is read before the path is built, because building it may change
// errno.
absl::Status Failed(int error, const FilePlace& place) {
  return ErrnoStatus(error, place.path());
}

bool OthersWrite(const struct stat& st) { return (st.st_mode & 0022) != 0; }

absl::Status CheckOurs(const struct stat& st, const std::string& path) {
  if (st.st_uid == geteuid() && !OthersWrite(st)) return absl::OkStatus();
  return Refuse(path, "others may have written to it");
}

// A user namespace that maps few users shows all other users as one. The
// machine's root is among them, and owns / there.
bool ShowsUnmappedUsers() {
  std::ifstream in("/proc/self/uid_map");
  uint64_t inside = 0;
  uint64_t outside = 0;
  uint64_t count = 0;
  bool any = false;
  while (in >> inside >> outside >> count) {
    any = true;
    if (inside <= kOverflow && kOverflow - inside < count) return false;
  }
  return any;
}

bool Trusted(uid_t owner) {
  return owner == 0 || owner == geteuid() ||
         (owner == kOverflow && ShowsUnmappedUsers());
}

absl::StatusOr<std::string> Absolute(const std::string& path) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error);
  if (error) return ErrnoStatus(error.value(), path);
  return absolute;
}

// Walks from / to a directory or a file, step by step.
class Walk {
 public:
  // Makes the directories that are missing.
  explicit Walk(const std::string& path) : path_(path) { Enter(path); }
  // Makes nothing, and trusts one more user.
  Walk(const std::string& path, absl::optional<uid_t> also)
      : path_(path), makes_(false), also_(also) {
    Enter(path);
  }

  absl::StatusOr<UniqueFd> ToDirectory() {
    RETURN_IF_ERROR(Steps());
    UniqueFd dir(openat(here_.get(), ".", kDirectory));
    struct stat st;
    if (!dir.valid() || fstat(dir.get(), &st) != 0) {
      return ErrnoStatus(errno, path_);
    }
    RETURN_IF_ERROR(CheckOurs(st, path_));
    return dir;
  }

  absl::StatusOr<UniqueFd> ToFile() {
    RETURN_IF_ERROR(Steps());
    if (!file_.valid()) return ErrnoStatus(EISDIR, path_);
    // A path could lead to another one by now.
    UniqueFd fd(open(absl::StrCat("/proc/self/fd/", file_.get()).c_str(),
                     O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoStatus(errno, path_);
    return fd;
  }

 private:
  absl::Status Steps() {
    RETURN_IF_ERROR(ToRoot());
    while (!names_.empty()) {
      const std::string name = std::move(names_.front());
      names_.pop_front();
      if (!name.empty() && name != ".") RETURN_IF_ERROR(Step(name));
    }
    return absl::OkStatus();
  }

  // Puts the components of `path` before the remaining ones.
  void Enter(const std::string& path) {
    const std::vector<std::string> names = absl::StrSplit(path, '/');
    names_.insert(names_.begin(), names.begin(), names.end());
  }

  absl::Status ToRoot() {
    shown_.clear();
    ours_alone_ = false;
    here_ = UniqueFd(open("/", kHold | O_DIRECTORY));
    struct stat st;
    if (!here_.valid() || fstat(here_.get(), &st) != 0) {
      return ErrnoStatus(errno, "/");
    }
    return CheckAbove(st, "/");
  }

  bool Last() const {
    for (const std::string& name : names_) {
      if (!name.empty() && name != ".") return false;
    }
    return true;
  }

  bool IsTrusted(uid_t owner) const { return Trusted(owner) || owner == also_; }

  // Checks whether others could replace what is ours.
  absl::Status CheckAbove(const struct stat& st, const std::string& path) {
    if (!IsTrusted(st.st_uid)) {
      return Refuse(path, "the way to it belongs to somebody else");
    }
    if (OthersWrite(st) && (st.st_mode & S_ISVTX) == 0 && !ours_alone_) {
      return Refuse(path, "others may write to a directory above it");
    }
    ours_alone_ |= st.st_uid == geteuid() && (st.st_mode & 0077) == 0;
    return absl::OkStatus();
  }

  absl::StatusOr<UniqueFd> Hold(const std::string& name,
                                const std::string& path) {
    UniqueFd fd(openat(here_.get(), name.c_str(), kHold));
    if (!fd.valid() && errno == ENOENT && makes_) {
      if (mkdirat(here_.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
        return ErrnoStatus(errno, path);
      }
      fd = UniqueFd(openat(here_.get(), name.c_str(), kHold));
    }
    if (!fd.valid()) return ErrnoStatus(errno, path);
    return fd;
  }

  absl::Status Step(const std::string& name) {
    const std::string path = absl::StrCat(shown_, "/", name);
    ASSIGN_OR_RETURN(UniqueFd next, Hold(name, path));
    struct stat st;
    if (fstat(next.get(), &st) != 0) return ErrnoStatus(errno, path);
    if (S_ISLNK(st.st_mode)) return Follow(next.get(), st, path);
    if (!makes_ && Last()) return TakeFile(std::move(next), st, path);
    if (!S_ISDIR(st.st_mode)) return ErrnoStatus(ENOTDIR, path);
    if (name == "..") ours_alone_ = false;
    if (!Last()) RETURN_IF_ERROR(CheckAbove(st, path));
    here_ = std::move(next);
    shown_ = path;
    return absl::OkStatus();
  }

  absl::Status TakeFile(UniqueFd file, const struct stat& st,
                        const std::string& path) {
    if (!S_ISREG(st.st_mode)) return ErrnoStatus(EINVAL, path);
    if (!IsTrusted(st.st_uid)) {
      return Refuse(path, "it belongs to somebody else");
    }
    if (OthersWrite(st) && !ours_alone_) {
      return Refuse(path, "others may have written to it");
    }
    file_ = std::move(file);
    return absl::OkStatus();
  }

  // A link on the way counts like a directory there: a user who may replace one
  // may replace the other.
  absl::Status Follow(int link, const struct stat& st,
                      const std::string& path) {
    if ((makes_ && Last()) || ++links_ > kMostLinks) {
      return ErrnoStatus(ELOOP, path);
    }
    if (!IsTrusted(st.st_uid)) {
      return Refuse(path, "a link of somebody else leads to it");
    }
    std::string target(PATH_MAX, '\0');
    const ssize_t length = readlinkat(link, "", target.data(), target.size());
    if (length < 0) return ErrnoStatus(errno, path);
    target.resize(static_cast<size_t>(length));
    Enter(target);
    return target[0] == '/' ? ToRoot() : absl::OkStatus();
  }

  const std::string path_;
  const bool makes_ = true;  // false: the last name is that of a file
  const absl::optional<uid_t> also_;
  std::deque<std::string> names_;  // the remaining components
  UniqueFd here_;
  UniqueFd file_;
  std::string shown_;  // path of here_, for messages
  int links_ = 0;
  bool ours_alone_ = false;  // nobody else can reach here_
};

}  // namespace

absl::StatusOr<OwnedDir> OwnedDir::Make(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string absolute, Absolute(path));
  ASSIGN_OR_RETURN(UniqueFd fd, Walk(absolute).ToDirectory());
  return OwnedDir(std::move(fd), path);
}

absl::StatusOr<UniqueFd> OpenTrustedFile(const std::string& path,
                                         absl::optional<uid_t> also) {
  ASSIGN_OR_RETURN(const std::string absolute, Absolute(path));
  return Walk(absolute, also).ToFile();
}

absl::Status CheckTrustedDir(int fd, const std::string& path,
                             absl::optional<uid_t> also) {
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, path);
  if (!Trusted(st.st_uid) && st.st_uid != also) {
    return Refuse(path, absl::StrCat("it belongs to user ", st.st_uid));
  }
  if (OthersWrite(st)) {
    return Refuse(path, "others may write to it; take that right from them");
  }
  return absl::OkStatus();
}

absl::StatusOr<OwnedDir> OwnedDir::In(int above, const std::string& name,
                                      std::string path) {
  if (mkdirat(above, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, path);
  }
  UniqueFd fd(openat(above, name.c_str(), kDirectory | O_NOFOLLOW));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, path);
  RETURN_IF_ERROR(CheckOurs(st, path));
  return OwnedDir(std::move(fd), std::move(path));
}

absl::StatusOr<OwnedDir> OwnedDir::Sub(const std::string& name) const {
  return In(fd(), name, absl::StrCat(path_, "/", name));
}

std::string FilePlace::path() const {
  return dir_ == nullptr ? name_ : absl::StrCat(dir_->path(), "/", name_);
}

FilePlace FilePlace::With(absl::string_view suffix) const {
  FilePlace beside = *this;
  beside.name_.append(suffix.data(), suffix.size());
  return beside;
}

int FilePlace::above() const { return dir_ == nullptr ? AT_FDCWD : dir_->fd(); }

absl::StatusOr<UniqueFd> FilePlace::Open(int flags) const {
  UniqueFd fd(openat(above(), name_.c_str(),
                     flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return Failed(errno, *this);
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": not a file"));
  }
  if (dir_ != nullptr && st.st_uid != geteuid()) {
    return Refuse(path(), "it belongs to somebody else");
  }
  return fd;
}

absl::StatusOr<struct stat> FilePlace::Stat() const {
  struct stat st;
  if (fstatat(above(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return Failed(errno, *this);
  }
  return st;
}

absl::Status FilePlace::Remove() const {
  if (unlinkat(above(), name_.c_str(), 0) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return Failed(errno, *this);
}

absl::Status FilePlace::RenameTo(const FilePlace& to) const {
  if (renameat(above(), name_.c_str(), to.above(), to.name_.c_str()) == 0) {
    return absl::OkStatus();
  }
  return Failed(errno, to);
}

absl::Status FilePlace::SyncNames() const {
  const size_t slash = name_.rfind('/');
  const std::string dir =
      slash == std::string::npos ? "." : name_.substr(0, slash + 1);
  const UniqueFd fd(openat(above(), dir.c_str(), kDirectory));
  if (!fd.valid()) return Failed(errno, *this);
  // EINVAL: the file system does not support fsync of directories.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return Failed(errno, *this);
  return absl::OkStatus();
}

}  // namespace shufflefs
