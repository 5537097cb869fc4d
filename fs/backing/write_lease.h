// SPDX-License-Identifier: Apache-2.0
// Read leases on files of the source. While the daemon has one, the kernel
// stops who opens the file for writing, or truncates it, until the daemon has
// ended the lease.
#ifndef SHUFFLEFS_FS_BACKING_WRITE_LEASE_H_
#define SHUFFLEFS_FS_BACKING_WRITE_LEASE_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// `fd` is open for reading only. Errors: EAGAIN if the file is open for
// writing, EINVAL if its file system has no leases, EACCES if the process may
// not have one.
absl::Status TakeLease(int fd);
// Returns whether this process may have leases on files of others (CAP_LEASE).
bool MayLease();
// Returns whether a writer waits, or the kernel has ended the lease.
bool IsLeaseBroken(int fd);
// Lets writers go on.
void EndLease(int fd);

// LeaseBell rings when a writer begins to wait for some lease of this process.
// The kernel tells that by SIGIO, which would end the process if a thread did
// not block it. It also tells of mounts that come or go.
class LeaseBell {
 public:
  struct Calls {
    std::function<void()> writer_waits;
    std::function<void()> mounts_changed;
  };
  // Blocks the signal on the calling thread. Call it on the first thread;
  // others block all signals.
  static void BlockSignal();

  static absl::StatusOr<std::unique_ptr<LeaseBell>> Make();
  ~LeaseBell() { Stop(); }
  LeaseBell(const LeaseBell&) = delete;
  LeaseBell& operator=(const LeaseBell&) = delete;

  // Makes the calls on the thread `sfs-leases`, until Stop. Returns false if
  // the system gives no thread.
  bool Start(Calls calls);
  // Waits for a call that runs.
  void Stop();

 private:
  LeaseBell(UniqueFd signals, UniqueFd mounts, UniqueFd stop);
  void Run(std::stop_token stop, const Calls& calls) const;

  const UniqueFd signals_;  // a signalfd
  const UniqueFd mounts_;   // of this process's namespace
  const UniqueFd stop_fd_;  // an eventfd
  std::jthread thread_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_BACKING_WRITE_LEASE_H_
