// SPDX-License-Identifier: Apache-2.0
// KernelBacking has the kernel read files of the source by itself.
#ifndef SHUFFLEFS_FS_FUSE_KERNEL_BACKING_H_
#define SHUFFLEFS_FS_FUSE_KERNEL_BACKING_H_

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"
#include "fs/backing/backed_source.h"
#include "fs/backing/backing_files.h"
#include "fs/backing/own_mount.h"
#include "fs/backing/write_lease.h"
#include "fs/kernel_cache/mount_lister.h"

namespace shufflefs {

class KernelBacking {
 public:
  struct Parts {
    int device = -1;                    // of /dev/fuse; outlives Stop
    const SourceDir* source = nullptr;  // used by Make
    const OwnMount* mount = nullptr;    // outlives the object
    MountLister* lister = nullptr;      // outlives the object
  };
  // The message of an error says in one clause why the kernel cannot.
  static absl::StatusOr<std::unique_ptr<KernelBacking>> Make(
      const Parts& parts);

  // `catalogue` is what the mount shows. Call it once. The result lives as long
  // as this object.
  BackingFiles* Begin(std::shared_ptr<const Catalogue> catalogue);
  // The device is not used any more. May wait for the source.
  void Stop();

 private:
  KernelBacking(const Parts& parts, std::unique_ptr<BackedSource> source,
                std::unique_ptr<LeaseBell> bell);
  const Parts parts_;
  const std::unique_ptr<BackedSource> source_;
  std::unique_ptr<BackingFiles> files_;        // null before Begin
  std::atomic<BackingFiles*> begun_{nullptr};  // the same, for the bell
  std::unique_ptr<LeaseBell> bell_;  // last member: it uses the others
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_KERNEL_BACKING_H_
