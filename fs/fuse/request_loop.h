// SPDX-License-Identifier: Apache-2.0
// RequestLoop serves a session's requests. One thread at a time, the leader,
// takes requests from the kernel. It makes another thread the leader before it
// serves a request that is not quick. No thread waits for the source, except
// one that serves a write to control, and for a bounded time one that needs to
// know what a directory allows. Before that the latter makes another thread the
// leader. Other waits are left to other threads.
// The leader answers quick requests itself. For a moment after a quick request
// it polls for the next one without sleeping. Waking a sleeping thread on
// another core would cost the reader more than most answers do (tens of
// microseconds in a virtual machine).
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
    // Returns whether lookups, opens and listings are answered without waiting
    // for a device.
    std::function<bool()> answers_quickly;
    // Returns whether reads of this file are.
    std::function<bool(uint64_t nodeid)> reads_quickly;
    // No more requests are taken. Called before the loop waits for its threads.
    std::function<void(bool well)> ended;
    // If this many threads run, a thread leads on while it serves a slow
    // request.
    size_t max_threads = 32;
    // With those whose requests wait. A client has as many requests under way
    // as it has threads, so without a bound it could use up the daemon's.
    size_t most_threads = 1024;
  };
  explicit RequestLoop(Options options);
  ~RequestLoop();

  // Serves until Stop, until the session's exit flag is set and a signal
  // interrupts this thread, or until the mount is gone. Call it once. Only this
  // thread receives signals.
  absl::Status Run();
  // Ends Run, from any thread, also before it has begun.
  void Stop() { End(0); }
  // Call it on a thread that serves a request and is about to wait. Another
  // thread leads from now on. It is started beyond max_threads if necessary,
  // and ends when it is idle. If there are most_threads, none leads until one
  // of them is free. So each wait must end even if no request is served
  // meanwhile. Those for `sfs-list`, which sends requests, are given up after
  // seconds. Does nothing on any other thread.
  void LetOthersServe();

 private:
  // The pace of requests, as the leader sees it.
  struct Pace {
    std::chrono::steady_clock::time_point answered;
    bool dense = false;
  };

  void Serve();
  // Waits for a request and takes it. Returns false when the loop has ended.
  bool Receive(Pace& pace, fuse_buf& request);
  bool WaitForRequest(Pace& pace) const;
  bool MorePending() const;
  bool IsQuick(const fuse_buf& request) const;
  // `must`: also beyond max_threads.
  void HandOver(bool must) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns whether this thread, which would be idle, is one too many. Then it
  // is one of left_.
  bool Leaves() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Lead() ABSL_LOCKS_EXCLUDED(mu_);
  void End(int result) ABSL_LOCKS_EXCLUDED(mu_);
  // Does nothing if there are most_threads, or if the system gives no more.
  // Then the next free thread leads.
  void StartOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Options options_;
  const int fuse_fd_;
  UniqueFd ended_fd_;  // an eventfd; readable for ever once ended

  Mutex mu_;
  CondVar lead_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  int result_ ABSL_GUARDED_BY(mu_) = 0;  // -errno
  // None: the next free thread leads.
  std::thread::id leader_ ABSL_GUARDED_BY(mu_);
  size_t idle_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::jthread> threads_ ABSL_GUARDED_BY(mu_);
  // The last that left. It takes no lock any more, and the next joins it.
  std::vector<std::jthread> left_ ABSL_GUARDED_BY(mu_);
  uint64_t started_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_REQUEST_LOOP_H_
