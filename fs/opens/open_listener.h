// SPDX-License-Identifier: Apache-2.0
// OpenListener learns of opens that the kernel answers by itself. If the daemon
// answers an OPEN with ENOSYS, the kernel sends no more of them, and a cached
// file opens as quickly as one of a local file system. The kernel's fanotify
// then reports each open afterwards, and no reader waits for that.
#ifndef SHUFFLEFS_FS_OPENS_OPEN_LISTENER_H_
#define SHUFFLEFS_FS_OPENS_OPEN_LISTENER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "core/engine/served_dataset.h"
#include "core/epoch/open_reports.h"
#include "fs/kernel_cache/mount_lister.h"
#include "fs/opens/open_events.h"

namespace shufflefs {

// Thread-safe. Take never blocks. Threads: `sfs-opens` passes reports to the
// views, from Begin to Stop. It may block as View::TakeReports does.
class OpenListener : public OpenReports {
 public:
  struct Options {
    // For tests: the report with this number, from 1, counts as lost.
    absl::optional<uint64_t> lose;
    // For tests: false refuses marks, as Linux before 6.8 does.
    bool marks = true;
  };
  // Errors: PermissionDenied without CAP_SYS_ADMIN, and the errno of kernels
  // that cannot report opens so. Call it before MountLister::Start, which gets
  // the group.
  static absl::StatusOr<std::unique_ptr<OpenListener>> Make(
      const Options& options);
  ~OpenListener() override { Stop(); }
  OpenListener(const OpenListener&) = delete;
  OpenListener& operator=(const OpenListener&) = delete;

  int group() const { return group_.get(); }
  // Has the directories of all files in views reported. Blocks for about 50
  // microseconds per directory; other threads must serve the mount meanwhile.
  // Errors: the errno, or FailedPrecondition with more directories than
  // kMostWatched if no epoch depends on reports. Then nothing may rely on
  // reports; call Forget.
  absl::Status Mark(const ServedDataset& served, MountLister& lister,
                    const std::string& mountpoint);
  // Has the kernel report nothing more, and drops what it reported. Its queue
  // would grow if nobody read it.
  void Forget();
  // Forgets what was reported so far, and begins to pass reports to the views
  // of `served`, which outlives Stop. Returns false if the system gives no
  // thread.
  bool Begin(const ServedDataset& served);
  // Passes on what was reported until now, and nothing later.
  void Stop();

  Taken Take(uint32_t view) override ABSL_LOCKS_EXCLUDED(mu_);
  void Collect() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  OpenListener(UniqueFd group, UniqueFd stop, const Options& options);
  void Run(std::stop_token stop);
  // Returns whether epochs depend on the reports.
  bool Counts() ABSL_LOCKS_EXCLUDED(mu_);
  void PassOn();
  void Fetch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Options options_;
  const UniqueFd group_;    // of fanotify
  const UniqueFd stop_fd_;  // an eventfd

  // Held while the group is read, so that reports keep their order. A leaf.
  Mutex mu_;
  const ServedDataset* served_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::vector<Taken> taken_ ABSL_GUARDED_BY(mu_);  // by view
  uint32_t looker_ ABSL_GUARDED_BY(mu_) = 0;       // its opens do not count
  uint64_t fetched_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<char> buffer_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // last member: it uses the others
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_OPENS_OPEN_LISTENER_H_
