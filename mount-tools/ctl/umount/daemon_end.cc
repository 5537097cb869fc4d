// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/umount/daemon_end.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/engine/state_dir.h"
#include "fs/fuse/run_apart.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {
namespace {

constexpr std::chrono::milliseconds kLookEvery{10};

// The directory of the mount's state. "" if the daemon does not report it.
std::string StateOf(const std::string& mountpoint) {
  const absl::StatusOr<std::string> control =
      MountClient(mountpoint, "").Read("control");
  return control.ok() ? StateIn(*control) : "";
}

// What a mount tells of its state may lie on a file system that hangs. So all
// that looks there runs apart.
pid_t AskHolder(const std::string& state, std::chrono::milliseconds wait) {
  const auto work = [&] { return absl::StrCat(HolderOf(state)); };
  pid_t pid = 0;
  return absl::SimpleAtoi(RunApart(work, wait).value_or(""), &pid) ? pid : 0;
}

std::string AskState(const std::string& mountpoint,
                     std::chrono::milliseconds wait) {
  return RunApart([&] { return StateOf(mountpoint); }, wait).value_or("");
}

}  // namespace

pid_t DaemonOf(const std::string& mountpoint, std::chrono::milliseconds wait) {
  const std::string state = AskState(mountpoint, wait);
  return state.empty() ? 0 : AskHolder(state, wait);
}

DaemonEnd::DaemonEnd(const std::string& mountpoint,
                     std::chrono::milliseconds wait)
    : state_(AskState(mountpoint, wait)) {
  const pid_t pid = state_.empty() ? 0 : AskHolder(state_, wait);
  if (pid == 0) return;
  process_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // The id may have been reused by then.
  if (AskHolder(state_, wait) != pid) process_.reset();
}

bool DaemonEnd::LockIsFree(std::chrono::milliseconds wait) const {
  constexpr char kHeld[] = "held";
  const auto work = [&]() -> std::string {
    // The mount told the path, so anything may be there.
    const absl::StatusOr<UniqueFd> lock =
        FilePlace(LockPath(state_)).Open(O_RDONLY);
    const bool is_free = !lock.ok() ||
                         flock(lock->get(), LOCK_SH | LOCK_NB) == 0 ||
                         errno != EWOULDBLOCK;
    return is_free ? "" : kHeld;
  };
  return RunApart(work, wait).value_or(kHeld) != kHeld;
}

bool DaemonEnd::Await(std::chrono::steady_clock::time_point until) {
  if (state_.empty()) return true;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    const auto wait = std::max(left, std::chrono::milliseconds(0));
    if (process_.valid()) {
      pollfd ended{process_.get(), POLLIN, 0};
      const int found =
          poll(&ended, 1,
               static_cast<int>(
                   std::min(wait, std::chrono::milliseconds(60000)).count()));
      if (found > 0) return true;
    } else {
      if (LockIsFree(std::max(wait, kLookEvery))) return true;
      std::this_thread::sleep_for(std::min(wait, kLookEvery));
    }
    if (std::chrono::steady_clock::now() >= until) return false;
  }
}

}  // namespace shufflefs
