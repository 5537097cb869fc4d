// SPDX-License-Identifier: Apache-2.0
// Serves a session's requests: one thread at a time, the leader, takes
// requests from the kernel. It makes another thread the leader before it
// serves one that is not quick. None waits for the source but one that serves a
// write to control: whatever else may wait is left to other threads. Quick
// requests it answers itself, and for a moment after a quick one it looks for
// the next without sleeping: to wake a sleeping thread on another core costs a
// reader more than most answers do (tens of microseconds in a virtual machine).
#ifndef SHUFFLEFS_FS_FUSE_REQUEST_LOOP_H_
#define SHUFFLEFS_FS_FUSE_REQUEST_LOOP_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"

struct fuse_session;
struct fuse_buf;

namespace shufflefs {

class RequestLoop {
 public:
  struct Options {
    fuse_session* session = nullptr;  // outlives the loop
    // Whether lookups, opens and listings are answered without waiting for a
    // device.
    std::function<bool()> answers_quickly;
    // Whether reads of this file are.
    std::function<bool(uint64_t nodeid)> reads_quickly;
    // No more requests are taken; told before the threads are waited for.
    std::function<void(bool well)> ended;
    // Beyond it a thread that is not quick goes on leading meanwhile.
    size_t max_threads = 32;
  };
  explicit RequestLoop(Options options);
  ~RequestLoop();

  // Serves until the session's exit flag is set and a signal interrupts this
  // thread, or the mount is gone. Call once. Signals reach only this thread.
  absl::Status Run();
  // For a thread that serves a request and is about to wait for something
  // that takes another request: another one leads from now on, started beyond
  // max_threads if need be. A no-op in any other thread.
  void LetOthersServe();

 private:
  // What the leader knows of how requests come.
  struct Pace {
    std::chrono::steady_clock::time_point answered;
    bool dense = false;
  };

  void Serve();
  // Waits for a request and takes it; false when the loop has ended.
  bool Receive(Pace& pace, fuse_buf& request);
  bool WaitForRequest(Pace& pace) const;
  bool MorePending() const;
  bool IsQuick(const fuse_buf& request) const;
  // `must`: also beyond max_threads.
  void HandOver(bool must) ABSL_LOCKS_EXCLUDED(mu_);
  bool Lead() ABSL_LOCKS_EXCLUDED(mu_);
  void End(int result) ABSL_LOCKS_EXCLUDED(mu_);
  // Does nothing where the system gives no more threads: who is free leads.
  void StartOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Options options_;
  const int fuse_fd_;
  UniqueFd ended_fd_;  // an eventfd, readable for ever once ended

  Mutex mu_;
  CondVar lead_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  int result_ ABSL_GUARDED_BY(mu_) = 0;          // -errno
  std::thread::id leader_ ABSL_GUARDED_BY(mu_);  // none: the next that is free
  size_t idle_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::jthread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_REQUEST_LOOP_H_
