// SPDX-License-Identifier: Apache-2.0
#include "fs/backing/backed_source.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/source/file_check.h"
#include "core/source/file_systems.h"
#include "fs/backing/write_lease.h"

namespace shufflefs {
namespace {

// The kernel refuses backing files on a file system that is stacked itself.
constexpr uint64_t kOverlay = 0x794c7630;

std::string LinkTo(int fd) { return absl::StrCat("/proc/self/fd/", fd); }

absl::Status CheckFileSystem(const SourceDir& source) {
  const absl::optional<uint64_t> type = source.place().fs_type;
  if (type == kOverlay) {
    return absl::FailedPreconditionError("the source is on overlayfs");
  }
  // Only a local file system tells of writers.
  if (!type || !AnswersFromMemory(*type)) {
    return absl::FailedPreconditionError(
        "the file system of the source may not tell of writers");
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> CloneMount(const SourceDir& source) {
  UniqueFd mount(open_tree(
      source.fd(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!mount.valid()) return ErrnoStatus(errno, "open_tree");
  struct mount_attr how = {};
  how.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOATIME | MOUNT_ATTR_NODIRATIME;
  how.attr_clr = MOUNT_ATTR__ATIME;
  how.propagation = MS_PRIVATE;
  if (mount_setattr(mount.get(), "", AT_EMPTY_PATH, &how, sizeof(how)) != 0) {
    return ErrnoStatus(errno, "mount_setattr");
  }
  return mount;
}

}  // namespace

BackedSource::BackedSource(UniqueFd mount, SourceDir source)
    : mount_(std::move(mount)), source_(std::move(source)) {}

absl::StatusOr<std::unique_ptr<BackedSource>> BackedSource::Make(
    const SourceDir& source) {
  RETURN_IF_ERROR(CheckFileSystem(source));
  ASSIGN_OR_RETURN(UniqueFd mount, CloneMount(source));
  ASSIGN_OR_RETURN(SourceDir dir, SourceDir::At(LinkTo(mount.get())));
  return absl::WrapUnique(new BackedSource(std::move(mount), std::move(dir)));
}

absl::StatusOr<UniqueFd> BackedSource::Open(const Catalogue& catalogue,
                                            EntryId file) const {
  ASSIGN_OR_RETURN(UniqueFd fd, source_.Open(catalogue.path(file), O_RDONLY));
  // Checked behind the lease, so that no writer comes in between.
  RETURN_IF_ERROR(TakeLease(fd.get()));
  RETURN_IF_ERROR(CheckUnchanged(fd.get(), catalogue.attributes(file)));
  return fd;
}

absl::StatusOr<UniqueFd> OpenAgain(int fd) {
  UniqueFd again(open(LinkTo(fd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!again.valid()) return ErrnoStatus(errno, "open");
  return again;
}

}  // namespace shufflefs
