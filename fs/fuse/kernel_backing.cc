// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/kernel_backing.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/source/file_check.h"
#include "fs/filesystem.h"
#include "fs/fuse/backing_wire.h"

namespace shufflefs {
namespace {

constexpr rlim_t kMostFiles = 4096;

// A quarter of the descriptors that this process may have. Each backing file
// has one.
size_t MostFiles() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 16;
  return std::clamp<rlim_t>(limit.rlim_cur / 4, 1, kMostFiles);
}

// Tries it with a file in memory, because the kernel does not say who may.
absl::Status TryOne(int device) {
  const UniqueFd file(memfd_create("shufflefs", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "memfd");
  const absl::StatusOr<int32_t> id = AddBackingFile(device, file.get());
  if (id.ok()) {
    RemoveBackingFile(device, *id);
  } else if (ErrnoOf(id.status()) == EPERM) {
    return absl::PermissionDeniedError("it needs CAP_SYS_ADMIN");
  }
  return id.status();
}

}  // namespace

KernelBacking::KernelBacking(const Parts& parts,
                             std::unique_ptr<BackedSource> source,
                             std::unique_ptr<LeaseBell> bell)
    : parts_(parts), source_(std::move(source)), bell_(std::move(bell)) {}

absl::StatusOr<std::unique_ptr<KernelBacking>> KernelBacking::Make(
    const Parts& parts) {
  RETURN_IF_ERROR(TryOne(parts.device));
  if (!MayLease()) return absl::PermissionDeniedError("it needs CAP_LEASE");
  ASSIGN_OR_RETURN(auto source, BackedSource::Make(*parts.source));
  ASSIGN_OR_RETURN(auto bell, LeaseBell::Make());
  auto made = absl::WrapUnique(
      new KernelBacking(parts, std::move(source), std::move(bell)));
  // Now, because later it is too late for the status to say so.
  LeaseBell::Calls calls;
  calls.writer_waits = [self = made.get()] {
    if (BackingFiles* const files = self->begun_) files->LetWritersGo();
  };
  calls.mounts_changed = [self = made.get()] {
    if (BackingFiles* const files = self->begun_) files->LeaveMount();
  };
  if (!made->bell_->Start(std::move(calls)))
    return absl::ResourceExhaustedError("there is no thread for it");
  return made;
}

BackingFiles* KernelBacking::Begin(std::shared_ptr<const Catalogue> catalogue) {
  BackingFiles::Parts files;
  files.most = MostFiles();
  files.open = [this, catalogue](uint64_t nodeid) {
    return source_->Open(*catalogue, Filesystem::FileOf(nodeid));
  };
  files.check = [catalogue](uint64_t nodeid, int fd) {
    const EntryId file = Filesystem::FileOf(nodeid);
    const absl::Status same = CheckUnchanged(fd, catalogue->attributes(file));
    return same.ok() ? same : Annotate(same, catalogue->path(file));
  };
  // The kernel keeps what it is given for as long as readers have the file
  // open. So it gets a descriptor without the lease: after a kill of the daemon
  // nobody would end that.
  files.add = [device = parts_.device](int fd) -> absl::StatusOr<int32_t> {
    ASSIGN_OR_RETURN(const UniqueFd again, OpenAgain(fd));
    return AddBackingFile(device, again.get());
  };
  files.remove = [device = parts_.device](int32_t id) {
    RemoveBackingFile(device, id);
  };
  files.enter = [mount = parts_.mount] { return mount->Enter(); };
  files.tell = [catalogue](uint64_t nodeid) {
    Log(LogLevel::kWarning,
        absl::StrCat(catalogue->path(Filesystem::FileOf(nodeid)),
                     ": somebody opened it for writing in the source; who has "
                     "it open in the mount gets errors from now on"));
  };
  files.cut_off = [lister = parts_.lister](uint64_t nodeid, int way_in) {
    return lister->LookUp(way_in, BackingFiles::CutOffName(nodeid));
  };
  files_ = std::make_unique<BackingFiles>(std::move(files));
  begun_ = files_.get();
  return files_.get();
}

void KernelBacking::Stop() {
  if (files_ != nullptr) files_->Stop();
}

}  // namespace shufflefs
