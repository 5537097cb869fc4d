// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/mount_table.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

bool IsOctal(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= '0' && c <= '7'; });
}

// Space, tab, newline and backslash are written as a backslash and three octal
// digits.
std::string Unescape(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size() ||
        !IsOctal(text.substr(i + 1, 3))) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 +
                                      (text[i + 2] - '0') * 8 +
                                      (text[i + 3] - '0')));
    i += 3;
  }
  return plain;
}

// 36 35 98:0 /root /mountpoint options [optional…] - type source options
absl::optional<MountEntry> ParseMountLine(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 3) {
    return absl::nullopt;
  }
  MountEntry entry;
  if (!absl::SimpleAtoi(fields[0], &entry.id) ||
      !absl::SimpleAtoi(fields[1], &entry.parent_id)) {
    return absl::nullopt;
  }
  entry.device = std::string(fields[2]);
  entry.mountpoint = Unescape(fields[4]);
  entry.flags = std::string(fields[5]);
  entry.type = Unescape(dash[1]);
  entry.source = Unescape(dash[2]);
  if (fields.end() - dash > 3) entry.options = Unescape(dash[3]);
  return entry;
}

// The id of the mount that `path` resolves to. O_PATH asks no daemon about the
// last name, and the kernel answers from its own memory.
absl::optional<int> MountIdOf(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) return absl::nullopt;
  return MountIdIn(absl::StrCat("/proc/self/fdinfo/", fd.get()));
}

}  // namespace

absl::optional<int> MountIdIn(const std::string& fdinfo) {
  std::ifstream info(fdinfo);
  std::string line;
  while (std::getline(info, line)) {
    absl::string_view rest = line;
    int id = 0;
    if (absl::ConsumePrefix(&rest, "mnt_id:") && absl::SimpleAtoi(rest, &id)) {
      return id;
    }
  }
  return absl::nullopt;
}

bool LiesBelow(absl::string_view path, absl::string_view directory) {
  if (directory == "/") return true;
  return absl::ConsumePrefix(&path, directory) &&
         (path.empty() || path.front() == '/');
}

std::vector<MountEntry> ParseMountInfo(absl::string_view text) {
  std::vector<MountEntry> mounts;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::optional<MountEntry> entry = ParseMountLine(line);
    if (entry) mounts.push_back(*std::move(entry));
  }
  return mounts;
}

absl::StatusOr<std::vector<MountEntry>> ReadMountInfo() {
  errno = 0;
  std::ifstream file("/proc/self/mountinfo");
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return ErrnoStatus(errno != 0 ? errno : EIO, "/proc/self/mountinfo");
  }
  return ParseMountInfo(text.str());
}

absl::optional<MountEntry> MountAt(const std::string& path,
                                   const std::vector<MountEntry>& mounts) {
  const absl::optional<int> id = MountIdOf(path);
  const MountEntry* nearest = nullptr;
  for (const MountEntry& mount : mounts) {
    if (id && mount.id == *id) return mount;
    if (!id && LiesBelow(path, mount.mountpoint) &&
        (nearest == nullptr ||
         mount.mountpoint.size() >= nearest->mountpoint.size())) {
      nearest = &mount;
    }
  }
  if (nearest == nullptr) return absl::nullopt;
  return *nearest;
}

std::string BootId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

}  // namespace shufflefs
