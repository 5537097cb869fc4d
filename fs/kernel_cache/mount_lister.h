// SPDX-License-Identifier: Apache-2.0
// MountLister lists directories of the mount in a separate process, so that the
// kernel caches their dentries. A thread of the daemon that waits for its own
// mount cannot be killed while the request is unanswered, and it would keep
// /dev/fuse open. After a kill -9, daemon, mount and readers would wait for
// each other for ever. This process holds nothing, so its wait ends with the
// daemon.
#ifndef SHUFFLEFS_FS_KERNEL_CACHE_MOUNT_LISTER_H_
#define SHUFFLEFS_FS_KERNEL_CACHE_MOUNT_LISTER_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Listings take turns, a few hundred entries each. If the process
// is gone, nothing is listed, and names are looked up one by one.
//
// Those who serve the mount may wait for the caller, directly or not: for a
// lock, or for its turn here. So a question is given up after kWithin, as if
// the process were gone. Only Watch waits for as long as it takes.
class MountLister {
 public:
  static constexpr std::chrono::milliseconds kWithin{3000};

  // Starts the process. REQUIRES: no other thread runs, nothing is mounted.
  // The process keeps `group` (-1: none), a descriptor of fanotify, for Watch.
  static absl::StatusOr<std::unique_ptr<MountLister>> Start(int group = -1);
  // Ends the process, but does not wait for it.
  ~MountLister();
  // The mount takes no more requests: ends all questions, now and from now on.
  void Stop();
  MountLister(const MountLister&) = delete;
  MountLister& operator=(const MountLister&) = delete;

  // Has the group report each open of a file in the directory at `path` of the
  // mount. Another thread must serve the mount meanwhile. Errors: the errno.
  absl::Status Watch(const std::string& path);

  // Has the kernel look up `name` in the directory of the mount that
  // `directory` is a descriptor of. Another thread must serve the mount
  // meanwhile. Returns whether the mount has shown such a file.
  bool LookUp(int directory, const std::string& name);

  // Returns whether the process has answered all questions, also those that
  // were given up.
  bool IsSettled();

  // Returns which of these files of the mount the kernel has whole in its own
  // memory: false for those of which it does not say, empty if it says nothing
  // at all. Blocks for about 10 microseconds a file. Once `stop` is requested,
  // blocks for some milliseconds at most. Those who serve the mount may wait
  // for the caller by then.
  std::vector<bool> AreCached(const std::vector<std::string>& paths,
                              std::stop_token stop);

  // Its requests have this pid.
  pid_t pid() const { return pid_; }

  class Listing {
   public:
    Listing(MountLister& lister, const std::string& path);
    ~Listing();
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    // Lists the next few hundred entries and returns their number. Empty at the
    // end or on an error. Another thread must serve the mount meanwhile.
    absl::optional<size_t> Next();
    // Returns whether Next gave up. Then the kernel may still list, and link
    // what it gets.
    bool gave_up() const { return gave_up_; }

   private:
    MountLister& lister_;
    const int64_t directory_;  // a descriptor in the process, or -errno
    bool gave_up_ = false;
  };

 private:
  MountLister(pid_t pid, UniqueFd socket);
  struct Question;
  [[noreturn]] static void ListUntilClosed(int socket, int group);
  // How long an asker waits.
  struct Patience {
    bool Ends() const;
    std::stop_token stop;
    std::chrono::steady_clock::time_point until;
  };
  static Patience Within(std::stop_token stop = {});
  // The process's answer. If there is none: -ECANCELED if the patience ended,
  // -EAGAIN if it ended before the question was sent, -EPIPE if the process is
  // gone. `path` may be several, with zeros between them.
  int64_t Ask(char what, int64_t directory, const std::string& path,
              const Patience& patience) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns false if the patience ended.
  bool BeginTurn(const Patience& patience) ABSL_LOCKS_EXCLUDED(mu_);
  void EndTurn() ABSL_LOCKS_EXCLUDED(mu_);
  // These are for the asker whose turn it is. Results as Ask's.
  int64_t Exchange(Question& question, const Patience& patience);
  bool Send(Question& question);
  int64_t Receive(const Patience& patience);
  // Receives answers that nobody waits for any more, which come before others,
  // and closes what nobody lists. Returns false if the patience ended.
  bool ReceiveLeftAlone(const Patience& patience);
  void Close(int64_t directory) ABSL_LOCKS_EXCLUDED(mu_);

  const pid_t pid_;
  const UniqueFd socket_;
  // The kernel says what it has. False once it has refused.
  std::atomic<bool> tells_cached_{true};

  Mutex mu_;
  CondVar turn_ended_;
  // An asker sends its question, or waits for the answer.
  bool is_asked_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<int64_t> to_close_ ABSL_GUARDED_BY(mu_);  // directories
  // The kinds of questions whose askers have gone. For the asker whose turn it
  // is.
  std::deque<char> left_alone_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_KERNEL_CACHE_MOUNT_LISTER_H_
