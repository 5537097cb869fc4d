// SPDX-License-Identifier: Apache-2.0
// A mount: from mounting to the end of the request loop.
#ifndef SHUFFLEFS_FS_FUSE_SESSION_H_
#define SHUFFLEFS_FS_FUSE_SESSION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/metrics.h"
#include "fs/filesystem.h"
#include "fs/kernel_cache/mount_lister.h"

namespace shufflefs {

// Threads: Run waits on the caller's thread, a RequestLoop serves; the other
// methods may be called from any thread once Mount returned.
class Session {
 public:
  struct Options {
    Filesystem* filesystem = nullptr;  // outlives the session
    Metrics* metrics = nullptr;        // outlives the session
    MountLister* lister = nullptr;     // outlives the session
    std::string source;
    std::string mountpoint;
    bool allow_other = false;
    bool read_only = false;
    bool debug = false;
    bool use_epochs = true;  // false: as if the kernel knew no epochs
    // The mount takes no more requests. Told before what they still do is
    // waited for, by the thread that runs.
    std::function<void(bool well)> ended;
  };
  // Mounts; requests wait in the kernel until Run.
  static absl::StatusOr<std::unique_ptr<Session>> Mount(
      const Options& options);
  virtual ~Session() = default;

  // Serves until the mount is gone or SIGTERM, SIGINT or SIGHUP came, then
  // unmounts.
  virtual absl::Status Run() = 0;
  // Blocks until the kernel spoke its protocol; false if the session ended
  // first. Then kernel_knows_epochs() is valid.
  virtual bool WaitForKernel() = 0;
  virtual bool kernel_knows_epochs() const = 0;
  // Names were bound anew: keeps the pages of files that were read, and makes
  // the kernel look every name up again. Where it knows no epochs, names that
  // may rebind are not believed anyway; but `were_fixed` says that names
  // which could be believed are to be so no more: they are taken back, one by
  // one, before this returns.
  virtual void NamesChanged(bool were_fixed) = 0;
  // The same, but for that no name was bound anew.
  virtual void NamesDoubted() = 0;
  // After one of them: takes the names in use up anew, on a thread of its
  // own, before they are looked up one by one.
  virtual void NamesSettled() = 0;
  // The catalogue is there: what waited for it is answered.
  virtual void AnswerWaiting() = 0;
  // As root, allows reads ahead of up to 1 MiB; the kernel's default for
  // FUSE is 128 KiB. Call after WaitForKernel.
  virtual void RaiseReadAhead() = 0;
  // Ends Run.
  virtual void Stop() = 0;
  // For who ends the process at once, while Run waits for something: takes the
  // mount away where that was still to come.
  virtual void Detach() = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_SESSION_H_
