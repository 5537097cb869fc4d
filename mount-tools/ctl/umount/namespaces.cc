// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/umount/namespaces.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/files/mount_table.h"

namespace shufflefs {
namespace {

// The device of the last shufflefs mount in the table for which `is_it` holds.
std::string DeviceIn(
    const std::string& table,
    const std::function<bool(const MountEntry& mount,
                             const std::string& device)>& is_it) {
  std::string found;
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    const std::vector<MountEntry> mounts = ParseMountInfo(line);
    const std::vector<std::string> fields =
        absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (mounts.size() != 1 || fields.size() < 4) continue;
    if (mounts[0].is_shufflefs() && is_it(mounts[0], fields[2])) {
      found = fields[2];
    }
  }
  return found;
}

}  // namespace

std::string DeviceOfMount(const std::string& mountpoint) {
  return DeviceIn("/proc/self/mountinfo",
                  [&](const MountEntry& mount, const std::string&) {
                    return mount.mountpoint == mountpoint;
                  });
}

std::string ProcessThatSees(const std::string& device) {
  std::error_code error;
  std::filesystem::directory_iterator processes("/proc", error);
  while (!error && processes != std::filesystem::directory_iterator()) {
    const std::filesystem::path process = processes->path();
    const std::string found = DeviceIn(
        process / "mountinfo", [&](const MountEntry&, const std::string& seen) {
          return !device.empty() && seen == device;
        });
    int pid = 0;
    if (!found.empty() && absl::SimpleAtoi(process.filename().string(), &pid)) {
      std::string name;
      std::getline(std::ifstream(process / "comm"), name);
      return absl::StrCat(pid, " (", name, ")");
    }
    processes.increment(error);
  }
  return "";
}

}  // namespace shufflefs
