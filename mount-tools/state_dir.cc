// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "xxhash.h"

namespace shufflefs {
namespace {

std::string DefaultRoot() {
  if (geteuid() == 0) return "/var/lib/shufflefs";
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') {
    return absl::StrCat(state, "/shufflefs");
  }
  const char* home = std::getenv("HOME");
  return absl::StrCat(home != nullptr ? home : "/tmp",
                      "/.local/state/shufflefs");
}

}  // namespace

std::string StatePath(const MountConfig& config) {
  if (!config.state.empty()) return config.state;
  // NUL stands in no path, so the two cannot run into each other.
  const std::string key =
      absl::StrCat(config.source, absl::string_view("\0", 1),
                   config.mountpoint);
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  return absl::StrCat(DefaultRoot(), "/", absl::Hex(hash, absl::kZeroPad16));
}

StateDir::StateDir(std::string path, UniqueFd lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

absl::StatusOr<StateDir> StateDir::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return ErrnoStatus(error.value(), absl::StrCat("state ", path));
  }
  const std::string lock_path = path + "/lock";
  UniqueFd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return ErrnoStatus(errno, lock_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, lock_path);
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": another shufflefs uses this state; give each mount its own "
        "with -o state=DIR"));
  }
  return StateDir(path, std::move(lock));
}

}  // namespace shufflefs
