// SPDX-License-Identifier: Apache-2.0
// KernelSight is what a mount may learn from the kernel about its files: which
// of them are opened, and which are in the kernel's own memory.
#ifndef SHUFFLEFS_FS_OPENS_KERNEL_SIGHT_H_
#define SHUFFLEFS_FS_OPENS_KERNEL_SIGHT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "core/engine/served_dataset.h"
#include "core/sampler/cached_finder.h"
#include "fs/kernel_cache/mount_lister.h"
#include "fs/opens/open_listener.h"

namespace shufflefs {

// Constant after construction; its parts are thread-safe.
class KernelSight {
 public:
  // Errors: those of MountLister::Start. REQUIRES: no other thread runs, and
  // nothing is mounted.
  static absl::StatusOr<KernelSight> Make(const MountConfig& config);

  // Null if nobody wants reports of opens, or if the kernel gives none.
  OpenListener* listener() const {
    return listener_.ok() ? listener_->get() : nullptr;
  }
  MountLister& lister() const { return *lister_; }
  // Why there is no listener, in one clause; "" if there is one.
  std::string NoReports() const;
  // Returns a CachedFinder for the mount there. It knows nothing while `served`
  // returns null: there is no dataset yet.
  CachedFinder FinderFor(std::string mountpoint,
                         std::function<const ServedDataset*()> served) const;

 private:
  KernelSight() = default;

  absl::StatusOr<std::unique_ptr<OpenListener>> listener_ =
      absl::CancelledError("nobody asked for reports");
  std::unique_ptr<MountLister> lister_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_OPENS_KERNEL_SIGHT_H_
