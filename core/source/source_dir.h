// SPDX-License-Identifier: Apache-2.0
// SourceDir is the source directory: one descriptor, opened before the mount,
// through which everything below is reached. So the source may be the mount
// point, and no path is ever resolved from the root of the file system again.
//
// Paths are relative to the source, as the catalogue has them. They have no
// leading or trailing slash and no empty, "." or ".." component. They may have
// any other bytes and any length (also beyond PATH_MAX). "" is the source
// itself. No component is ever followed if it is a symbolic link.
//
// Errors carry the errno as payload (core/base/status.h): EINVAL for a path
// that breaks these rules, ELOOP if a link is in the way, ENOENT, EACCES, EIO,
// …
//
// Thread-safe: constant after construction. Every method may block for as long
// as the source's file system does.
#ifndef SHUFFLEFS_CORE_SOURCE_SOURCE_DIR_H_
#define SHUFFLEFS_CORE_SOURCE_SOURCE_DIR_H_

#include <linux/openat2.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"
#include "core/catalogue/credentials.h"

namespace shufflefs {

class SourceDir {
 public:
  // kKernel: one openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS) per path.
  // kComponents: one openat(O_NOFOLLOW) per component, for kernels before 5.6
  // and sandboxes that refuse openat2.
  enum class Lookup { kKernel, kComponents };

  // Opens the directory at `path`. Links in `path` itself are followed, because
  // it is the user's argument. Chooses the lookup that works here.
  static absl::StatusOr<SourceDir> At(const std::string& path);
  // The same, but opens it by the path `reached` (core/base/files/reach.h).
  static absl::StatusOr<SourceDir> At(const std::string& path,
                                      const std::string& reached);
  static absl::StatusOr<SourceDir> At(const std::string& path, Lookup lookup);

  SourceDir(SourceDir&&) = default;
  SourceDir& operator=(SourceDir&&) = default;

  // Opens for reading. O_CLOEXEC and O_NONBLOCK (so that a FIFO never hangs)
  // are always set. O_NOATIME is set if the process may. `flags` may add
  // O_DIRECTORY, O_DIRECT and the like. A request to write, create or truncate
  // is EROFS. Does not check what was opened: call fstat before you trust its
  // kind.
  absl::StatusOr<UniqueFd> Open(absl::string_view path, int flags) const;
  // lstat.
  absl::StatusOr<struct stat> Stat(absl::string_view path) const;
  // An entry of a directory that Open opened, with O_PATH, also if it is a
  // link.
  absl::StatusOr<UniqueFd> HoldIn(const UniqueFd& dir,
                                  absl::string_view name) const;
  // Something of the source's own mount, with O_PATH, by a path that leads over
  // no other. What is mounted over a directory of the path may hang, and is not
  // asked. EXDEV if the path leads over another mount, or if the kernel cannot
  // tell. REQUIRES: lookup() is kKernel.
  absl::StatusOr<UniqueFd> HoldOnOwnMount(const std::string& path) const;
  // The symbolic link at `path`; EINVAL if it is none. Both parts are of the
  // same link, whatever the path leads to later.
  struct Link {
    struct stat attributes = {};
    std::string target;
  };
  absl::StatusOr<Link> ReadLink(absl::string_view path) const;

  // For callers that call openat2 themselves, relative to fd(), if lookup() is
  // kKernel. IsPath: the paths that Open accepts (for the kernel they must be
  // shorter than PATH_MAX). HowToRead: the open_how that Open uses; drop
  // O_NOATIME on EPERM.
  static bool IsPath(absl::string_view path);
  open_how HowToRead() const;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }  // as given to At()
  Lookup lookup() const { return lookup_; }

  // Device and file system of the directory itself, as it was opened. The
  // source is not asked again.
  struct Place {
    uint64_t device = 0;
    absl::optional<uint64_t> fs_type;  // from statfs; empty: statfs failed
  };
  const Place& place() const { return place_; }
  // Of the process and the mounts, when the source was opened.
  const OverflowIds& overflow_ids() const { return overflow_ids_; }

 private:
  static absl::StatusOr<SourceDir> OpenAt(const std::string& path,
                                          const std::string& reached,
                                          Lookup lookup);
  SourceDir(std::string path, UniqueFd fd, Lookup lookup, int noatime)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        place_(PlaceOf(fd_.get())),
        overflow_ids_(OverflowIds::OfProcess()),
        lookup_(lookup),
        noatime_(noatime) {}

  static Place PlaceOf(int fd);

  absl::StatusOr<UniqueFd> Hold(absl::string_view path) const;
  // These return a descriptor or -errno.
  int Resolve(const std::string& path, int flags) const;
  int ResolveShort(int dir, const char* path, int flags) const;
  int ResolveComponents(const std::string& path, int flags) const;

  std::string path_;
  UniqueFd fd_;
  Place place_;
  OverflowIds overflow_ids_;
  Lookup lookup_;
  int noatime_;  // O_NOATIME or 0
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_SOURCE_DIR_H_
