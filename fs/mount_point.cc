// SPDX-License-Identifier: Apache-2.0
#include "fs/mount_point.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/log.h"
#include "core/status.h"

namespace shufflefs {
namespace {

constexpr char kType[] = "fuse.shufflefs";
constexpr int kMaxLayers = 64;

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 +
                               (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The type of the topmost mount at `mountpoint`, "" if there is none. Reads
// a table only: the mount itself is not touched.
std::string TopMountType(const std::string& mountpoint) {
  std::ifstream file("/proc/self/mountinfo");
  std::string type;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> fields = absl::StrSplit(halves[0], ' ');
    if (fields.size() < 5 || Unescape(fields[4]) != mountpoint) continue;
    type = std::vector<std::string>(absl::StrSplit(halves[1], ' '))[0];
  }
  return type;
}

absl::Status Detach(const std::string& mountpoint) {
  if (umount2(mountpoint.c_str(), MNT_DETACH) == 0) return absl::OkStatus();
  const int error = errno;
  const char* argv[] = {"fusermount3", "-uz", "--", mountpoint.c_str(),
                        nullptr};
  pid_t child = 0;
  int state = 0;
  if (posix_spawnp(&child, argv[0], nullptr, nullptr,
                   const_cast<char**>(argv), environ) == 0 &&
      waitpid(child, &state, 0) == child && state == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(error, absl::StrCat("cannot detach the dead mount at ",
                                         mountpoint));
}

}  // namespace

absl::Status ClearDeadMount(const std::string& mountpoint) {
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    if (TopMountType(mountpoint) != kType) return absl::OkStatus();
    const int fd =
        open(mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
      close(fd);
      return absl::FailedPreconditionError(absl::StrCat(
          mountpoint, ": a shufflefs is mounted there already"));
    }
    if (errno != ENOTCONN) {
      return ErrnoStatus(errno, absl::StrCat(
          mountpoint, ": another user's shufflefs is mounted there"));
    }
    Log(LogLevel::kInfo, absl::StrCat(mountpoint, ": detaching the mount that "
                                      "a dead daemon left"));
    RETURN_IF_ERROR(Detach(mountpoint));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(mountpoint, ": too many dead mounts"));
}

}  // namespace shufflefs
