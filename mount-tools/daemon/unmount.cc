// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/unmount.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/files/mount_table.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{50};
constexpr size_t kNamedProcesses = 3;

// Runs `arguments` and collects its messages. Errors: the errno of starting it
// (ENOENT: there is no such program); Internal with its messages.
absl::Status RunProgram(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, arguments[0]);
  write_end.reset();

  std::string said;
  std::array<char, 512> buffer;
  ssize_t got = 0;
  while ((got = read(read_end.get(), buffer.data(), buffer.size())) > 0 ||
         (got < 0 && errno == EINTR)) {
    if (got > 0) said.append(buffer.data(), static_cast<size_t>(got));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, arguments[0] + ": its end");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && said.empty()) {
    return ErrnoStatus(ENOENT, arguments[0]);
  }
  return absl::InternalError(absl::StripAsciiWhitespace(
      absl::StrCat(said.empty() ? arguments[0] + ": failed" : said)));
}

absl::Status UnmountAsUser(const std::string& mountpoint, bool lazy) {
  absl::Status status;
  for (const char* program : {"fusermount3", "fusermount"}) {
    status = RunProgram({program, lazy ? "-uz" : "-u", "--", mountpoint});
    if (ErrnoOf(status) != ENOENT) return status;
  }
  return WithNext(status, "install the package fuse3");
}

absl::Status UnmountOnce(const std::string& mountpoint, bool lazy) {
  if (geteuid() != 0) return UnmountAsUser(mountpoint, lazy);
  const int flags = UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0);
  if (umount2(mountpoint.c_str(), flags) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, mountpoint);
}

// The target of a link of /proc. "" if we may not read it.
std::string Target(const std::filesystem::path& link) {
  std::error_code error;
  const std::filesystem::path target =
      std::filesystem::read_symlink(link, error);
  return error ? std::string() : target.string();
}

bool IsBelow(const std::string& path, const std::string& directory) {
  return path == directory || absl::StartsWith(path, directory + "/");
}

// Whether an open file is known to be in another mount. The daemon keeps the
// directory open that its mount covers, which has the same path.
bool IsElsewhere(const std::filesystem::path& fdinfo, int mount_id) {
  const absl::optional<int> id = MountIdIn(fdinfo);
  return mount_id != 0 && id && *id != mount_id;
}

// The id of the visible mount there; 0 if it is not known.
int IdOfMount(const std::string& mountpoint) {
  int id = 0;
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return 0;
  for (const MountEntry& mount : *mounts) {
    if (mount.mountpoint == mountpoint) id = mount.id;
  }
  return id;
}

// `mount_id`: of the mount there; 0 if it is not known.
bool Uses(const std::filesystem::path& process, const std::string& mountpoint,
          int mount_id) {
  for (const char* link : {"cwd", "root", "exe"}) {
    if (IsBelow(Target(process / link), mountpoint)) return true;
  }
  for (const char* folder : {"fd", "map_files"}) {
    std::error_code error;
    std::filesystem::directory_iterator entries(process / folder, error);
    while (!error && entries != std::filesystem::directory_iterator()) {
      const std::filesystem::path& entry = entries->path();
      if (IsBelow(Target(entry), mountpoint) &&
          !IsElsewhere(process / "fdinfo" / entry.filename(), mount_id)) {
        return true;
      }
      entries.increment(error);
    }
  }
  return false;
}

}  // namespace

absl::Status Unmount(const std::string& mountpoint,
                     const UnmountOptions& options) {
  const auto deadline = std::chrono::steady_clock::now() + options.wait;
  absl::Status status = UnmountOnce(mountpoint, options.lazy);
  while (!status.ok() && std::chrono::steady_clock::now() < deadline &&
         ErrnoOf(status).value_or(EBUSY) == EBUSY) {
    std::this_thread::sleep_for(kRetryEvery);
    status = UnmountOnce(mountpoint, options.lazy);
  }
  if (status.ok()) return status;
  std::vector<std::string> users = ProcessesIn(mountpoint);
  if (users.empty()) return status;
  const size_t more = users.size() - std::min(users.size(), kNamedProcesses);
  users.resize(users.size() - more);
  return absl::UnavailableError(
      absl::StrCat(mountpoint, ": busy: used by ", absl::StrJoin(users, ", "),
                   more > 0 ? absl::StrCat(" and ", more, " more") : ""));
}

std::vector<std::string> ProcessesIn(const std::string& mountpoint) {
  std::vector<std::string> users;
  const int mount_id = IdOfMount(mountpoint);
  std::error_code error;
  std::filesystem::directory_iterator processes("/proc", error);
  while (!error && processes != std::filesystem::directory_iterator()) {
    const std::filesystem::path process = processes->path();
    int pid = 0;
    if (absl::SimpleAtoi(process.filename().string(), &pid) &&
        pid != getpid() && Uses(process, mountpoint, mount_id)) {
      std::string name;
      std::getline(std::ifstream(process / "comm"), name);
      users.push_back(absl::StrCat(pid, " (", name, ")"));
    }
    processes.increment(error);
  }
  return users;
}

}  // namespace shufflefs
