// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/read_at.h"
#include "core/base/status.h"
#include "core/staging/tier/tier_lock.h"

namespace shufflefs {
namespace {

constexpr char kLock[] = ".lock";
constexpr size_t kMostNameBytes = 255;  // of any file
constexpr size_t kTailBytes = 200;      // of a longer name, behind its hash
// The tail of a part of 10 million ranges.
constexpr uint64_t kMostTailBytes = uint64_t{512} << 20;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// Does not ask the directory above, which our own mount may cover.
absl::StatusOr<bool> IsMountpointFd(int fd, const std::string& path) {
  struct statx root;
  if (statx(fd, "", AT_EMPTY_PATH, 0, &root) == 0 &&
      (root.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (root.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  // Before Linux 5.8.
  struct stat here;
  struct stat above;
  if (fstat(fd, &here) != 0 || fstatat(fd, "..", &above, 0) != 0) {
    return ErrnoStatus(errno, path);
  }
  return here.st_dev != above.st_dev || here.st_ino == above.st_ino;
}

}  // namespace

absl::StatusOr<bool> IsMountpoint(const std::string& path,
                                  const PathReach& reach) {
  UniqueFd fd(open(Reached(reach, path).c_str(), kDirectory));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  return IsMountpointFd(fd.get(), path);
}

std::string TierDir::NameOf(absl::string_view view) {
  std::string name;
  for (const char c : view) {
    if (c == '/' || c == '%' || c == '\0' || (c == '.' && name.empty())) {
      absl::StrAppendFormat(&name, "%%%02x", static_cast<unsigned char>(c));
    } else {
      name.push_back(c);
    }
  }
  if (name.size() > kMostNameBytes) {
    name = absl::StrCat(
        "%", absl::Hex(XXH3_64bits(view.data(), view.size()), absl::kZeroPad16),
        "~", name.substr(name.size() - kTailBytes));
  }
  return name.empty() ? "%" : name;
}

absl::StatusOr<TierDir> TierDir::Open(const std::string& path,
                                      absl::string_view view,
                                      const PathReach& reach) {
  UniqueFd above(open(Reached(reach, path).c_str(), kDirectory));
  if (!above.valid()) return ErrnoStatus(errno, path);
  ASSIGN_OR_RETURN(const bool on_mountpoint, IsMountpointFd(above.get(), path));
  const std::string top_path = absl::StrCat(path, "/", kTierDirectory);
  ASSIGN_OR_RETURN(const OwnedDir top,
                   OwnedDir::In(above.get(), kTierDirectory, top_path));
  ASSIGN_OR_RETURN(UniqueFd lock, LockForProcess(top.fd(), kLock, path));
  ASSIGN_OR_RETURN(OwnedDir own, top.Sub(NameOf(view)));
  RETURN_IF_ERROR(DirFiles(own).Lock("this view is mounted already"));
  ASSIGN_OR_RETURN(SourceDir files,
                   SourceDir::At(own.path(), Reached(reach, own.path())));
  struct stat locked;
  struct stat opened;
  if (fstat(own.fd(), &locked) != 0 || fstat(files.fd(), &opened) != 0) {
    return ErrnoStatus(errno, own.path());
  }
  if (!SameFile(locked, opened)) return ErrnoStatus(ESTALE, own.path());
  return TierDir(DirFiles(own), std::move(files), std::move(lock), reach,
                 on_mountpoint);
}

absl::Status TierDir::StillThere() const {
  struct stat named;
  struct stat here;
  if (stat(Reached(reach_, own_.path()).c_str(), &named) != 0 ||
      fstat(own_.fd(), &here) != 0) {
    return ErrnoStatus(errno, own_.path());
  }
  return SameFile(named, here) ? absl::OkStatus()
                               : ErrnoStatus(ESTALE, own_.path());
}

absl::StatusOr<std::vector<TierName>> TierDir::List() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, own_.Names());
  std::vector<TierName> names;
  for (const std::string& text : all) {
    const absl::optional<TierName> name = ParseTierName(text);
    if (!name) continue;
    const auto st = own_.Stat(text);
    if (st.ok() && *st && S_ISREG((*st)->st_mode)) names.push_back(*name);
  }
  return names;
}

absl::StatusOr<TierDir::Part> TierDir::Read(uint64_t id) const {
  const std::string name = TierPartName(id);
  const std::string where = own_.PathOf(name);
  ASSIGN_OR_RETURN(const UniqueFd fd, own_.OpenFile(name, O_RDONLY));
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, where);
  Part part;
  part.bytes = static_cast<uint64_t>(st.st_size);
  const auto bytes = [&](uint64_t from) -> absl::StatusOr<std::string> {
    std::string text(part.bytes - from, '\0');
    const absl::StatusOr<size_t> got =
        ReadAt(fd.get(), from, text.data(), text.size());
    if (!got.ok()) return Annotate(got.status(), where);
    if (*got < text.size()) return absl::DataLossError("ends early");
    return text;
  };
  if (part.bytes < kTierFooterBytes) return absl::DataLossError(where);
  ASSIGN_OR_RETURN(const std::string footer,
                   bytes(part.bytes - kTierFooterBytes));
  ASSIGN_OR_RETURN(const uint64_t tail_at, TierTailAt(footer, part.bytes));
  if (part.bytes - tail_at > kMostTailBytes) return absl::DataLossError(where);
  RETURN_IF_ERROR(
      CheckWritten(fd.get(), {tail_at, part.bytes - tail_at}, where));
  ASSIGN_OR_RETURN(const std::string tail, bytes(tail_at));
  ASSIGN_OR_RETURN(part.table, ParseTierTail(tail, part.bytes));
  return part;
}

absl::StatusOr<UniqueFd> TierDir::Create(uint64_t id, uint64_t bytes) {
  ASSIGN_OR_RETURN(UniqueFd fd,
                   own_.Create(TierUnfinishedName(id), bytes, 0600));
  // Not in open: if open refuses O_DIRECT, it has already created the file.
  (void)fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_DIRECT);
  return fd;
}

absl::Status TierDir::Publish(uint64_t id) {
  return own_.Rename(TierUnfinishedName(id), TierPartName(id));
}

absl::Status TierDir::Remove(TierName name) {
  return own_.Remove(name.finished ? TierPartName(name.id)
                                   : TierUnfinishedName(name.id));
}

}  // namespace shufflefs
