// SPDX-License-Identifier: Apache-2.0
// ReadyPipe turns the process into a daemon. The parent process waits until the
// child's mount serves, prints the child's error if any, and exits with the
// right status.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_READY_PIPE_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_READY_PIPE_H_

#include <sys/types.h>

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/unique_fd.h"
#include "core/base/log.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Without Fork, Succeed and Fail do nothing. They are thread-safe; only the
// first call counts. After it the child has no terminal: its log goes
// where it is told to.
class ReadyPipe {
 public:
  // `log` is that of the daemon when nobody waits for it any more. If it is
  // stderr, stderr stays open.
  explicit ReadyPipe(LogOptions log) : log_(std::move(log)) {}
  enum class Side { kParent, kChild };
  // Call it before any thread starts. The child leads a new session.
  absl::StatusOr<Side> Fork();
  // In the parent: blocks until the child reports. Returns the exit status: 0,
  // or 1 after the child's line on stderr. Calls `died` before that line if the
  // child ended without a report. Ctrl-C and SIGTERM end the child, too; then
  // it waits for that, and the status is 128 and the signal.
  int AwaitChild(absl::FunctionRef<void()> died);
  void Succeed();
  void Fail(absl::string_view why);

 private:
  void Finish(char code, absl::string_view text);

  const LogOptions log_;
  pid_t child_ = 0;  // constant after Fork
  Mutex mu_;
  UniqueFd read_ ABSL_GUARDED_BY(mu_);
  UniqueFd write_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_READY_PIPE_H_
