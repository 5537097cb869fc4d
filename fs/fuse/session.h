// SPDX-License-Identifier: Apache-2.0
// Session is a mount, from mounting to the end of the request loop.
#ifndef SHUFFLEFS_FS_FUSE_SESSION_H_
#define SHUFFLEFS_FS_FUSE_SESSION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/metrics.h"
#include "core/engine/served_dataset.h"
#include "core/source/source_dir.h"
#include "fs/filesystem.h"
#include "fs/kernel_cache/mount_lister.h"

namespace shufflefs {

// Threads: Run waits on the caller's thread, and a RequestLoop serves. Any
// thread may call the other methods after Mount returned.
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
    bool no_exec = false;
    bool debug = false;
    bool use_epochs = true;  // false: as if the kernel did not know epochs
    // Files in it may be read by the kernel itself. Outlives Mount and
    // PrepareBacking. Null: the daemon reads all.
    const SourceDir* backed = nullptr;
    // The mount takes no more requests. Called on the thread of Run, before it
    // waits for running requests.
    std::function<void(bool well)> ended;
  };
  // Mounts. Requests wait in the kernel until Run.
  static absl::StatusOr<std::unique_ptr<Session>> Mount(const Options& options);
  virtual ~Session() = default;

  // Serves until the mount is gone or SIGTERM, SIGINT or SIGHUP comes, then
  // unmounts. From then on the process ignores these signals.
  virtual absl::Status Run() = 0;
  // Blocks until the kernel has sent its protocol version. Returns false if the
  // session ended first. Afterwards kernel_knows_epochs() is valid.
  virtual bool WaitForKernel() = 0;
  virtual bool kernel_knows_epochs() const = 0;
  // Returns why the kernel cannot read files of the source by itself, in one
  // clause; "" if it can. Call it after WaitForKernel.
  virtual std::string PrepareBacking() = 0;
  // Has the kernel read large files of `served`. Call it before
  // Filesystem::Begin, if PrepareBacking returned "".
  virtual void BeginBacking(const ServedDataset& served) = 0;
  // Call it on a thread that serves a request and is about to wait for
  // something else than a device. Does nothing on other threads.
  virtual void LetOthersServe() = 0;
  // Names were rebound. Keeps the pages of files that were read, and makes the
  // kernel look every name up again. If the kernel does not know epochs, it
  // never caches names that may rebind. But `were_fixed` says that names were
  // cacheable until now: these are invalidated, one by one, before this
  // returns.
  virtual void NamesChanged(bool were_fixed) = 0;
  // Like NamesChanged, but no name was rebound.
  virtual void NamesDoubted() = 0;
  // After one of the above: lists the names in use again on a separate thread
  // (DentryWarmer), before they are looked up one by one.
  virtual void NamesCommitted() = 0;
  // The catalogue is ready: answers the requests that waited for it.
  virtual void AnswerWaiting() = 0;
  // As root, allows read-ahead of up to 1 MiB. The kernel's default for FUSE is
  // 128 KiB. Call it after WaitForKernel.
  virtual void RaiseReadAhead() = 0;
  // Ends Run.
  virtual void Stop() = 0;
  // For a thread that ends the process at once while Run waits. Removes the
  // mount if it still exists.
  virtual void Detach() = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_SESSION_H_
