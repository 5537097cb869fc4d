// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/names_above.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/dataset/substitution_safety.h"

namespace shufflefs {
namespace {

constexpr int kListing = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

// Its path without links; "" if /proc does not tell.
std::string PathOfOpen(int fd) {
  std::array<char, PATH_MAX> path;
  const ssize_t size = readlink(absl::StrCat("/proc/self/fd/", fd).c_str(),
                                path.data(), path.size());
  return size <= 0 ? "" : std::string(path.data(), static_cast<size_t>(size));
}

bool AreSame(int a, int b) {
  struct stat one;
  struct stat other;
  return fstat(a, &one) == 0 && fstat(b, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// A mount of our own over it would be asked, and may wait for us.
bool IsCovered(const std::string& directory, const std::string& mountpoint) {
  return !mountpoint.empty() && (mountpoint == "/" || directory == mountpoint ||
                                 absl::StartsWith(directory, mountpoint + "/"));
}

absl::Status Covered(const std::string& directory) {
  return ErrnoStatus(EBUSY, absl::StrCat(directory, ": the mount covers it"));
}

// The directory that contains the source.
absl::StatusOr<UniqueFd> OpenParent(const SourceDir& source,
                                    const std::string& mountpoint) {
  open_how within = {};
  within.flags = kListing;
  within.resolve = RESOLVE_NO_XDEV;
  UniqueFd parent(static_cast<int>(
      syscall(SYS_openat2, source.fd(), "..", &within, sizeof within)));
  if (parent.valid()) return parent;
  // The source is a mount of its own, or there is a mount over its parent, or
  // the kernel is too old to tell.
  const std::string path = ParentOf(PathOfOpen(source.fd()));
  if (IsCovered(path, mountpoint)) return Covered(path);
  parent = UniqueFd(openat(source.fd(), "..", kListing));
  if (!parent.valid()) return ErrnoStatus(errno, path);
  return parent;
}

// DT_REG, DT_DIR or another one.
unsigned char KindOf(int dir, const dirent& entry) {
  struct stat st;
  if (entry.d_type != DT_UNKNOWN) return entry.d_type;
  if (fstatat(dir, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) return DT_LNK;
  return IFTODT(st.st_mode);
}

// The clause about the first name, by its bytes, that speaks of files. "" if
// none does. Errors: the errno of listing.
absl::StatusOr<std::string> ClauseAbout(UniqueFd directory) {
  const std::string path = PathOfOpen(directory.get());
  const std::unique_ptr<DIR, int (*)(DIR*)> names(fdopendir(directory.get()),
                                                  &closedir);
  if (names == nullptr) return ErrnoStatus(errno, path);
  const int fd = directory.release();
  std::string first;
  std::string clause;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(names.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (!first.empty() && first <= name) continue;
    const unsigned char kind = KindOf(fd, *entry);
    if (kind != DT_REG && kind != DT_DIR) continue;
    const auto why = WhyBesideSource(name, kind == DT_DIR);
    if (!why) continue;
    first = name;
    clause = absl::StrCat(absl::Utf8SafeCHexEscape(
                              absl::StrCat(path == "/" ? "" : path, "/", name)),
                          kind == DT_DIR ? "/ " : " ", *why);
  }
  if (errno != 0 && first.empty()) return ErrnoStatus(errno, path);
  return clause;
}

}  // namespace

std::string FindNamesAbove(const SourceDir& source,
                           const std::string& mountpoint) {
  const auto clause = [&](absl::StatusOr<UniqueFd> directory) -> std::string {
    if (directory.ok() && AreSame(directory->get(), source.fd())) return "";
    absl::StatusOr<std::string> found =
        directory.ok() ? ClauseAbout(*std::move(directory))
                       : absl::StatusOr<std::string>(directory.status());
    if (found.ok()) return *std::move(found);
    Log(LogLevel::kInfo,
        absl::StrCat(found.status().message(), "; whether files beside the ",
                     "source speak of its files is not known"));
    return "";
  };
  std::string found = clause(OpenParent(source, mountpoint));
  char target = 0;  // readlink asks no daemon, if a mount is there
  if (!found.empty() || readlink(source.path().c_str(), &target, 1) < 0) {
    return found;
  }
  const std::string beside = ParentOf(source.path());
  if (IsCovered(beside, mountpoint)) return clause(Covered(beside));
  UniqueFd opened(open(beside.c_str(), kListing));
  if (!opened.valid()) return clause(ErrnoStatus(errno, beside));
  return clause(std::move(opened));
}

}  // namespace shufflefs
