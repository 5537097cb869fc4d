// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/mounts_above.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace shufflefs {
namespace {

// The directories that an overlay shows. A colon in a name is written as "\:".
std::vector<std::string> LowerDirs(absl::string_view options) {
  std::vector<std::string> dirs;
  for (absl::string_view option : absl::StrSplit(options, ',')) {
    if (!absl::ConsumePrefix(&option, "lowerdir=") &&
        !absl::ConsumePrefix(&option, "lowerdir+=")) {
      continue;
    }
    dirs.emplace_back();
    for (size_t i = 0; i < option.size(); ++i) {
      if (option[i] == ':') {
        dirs.emplace_back();
        continue;
      }
      if (option[i] == '\\' && i + 1 < option.size()) ++i;
      dirs.back() += option[i];
    }
  }
  return dirs;
}

std::vector<std::string> Below(const MountEntry& mount) {
  if (mount.type == "overlay") return LowerDirs(mount.options);
  if (absl::StartsWith(mount.type, "fuse")) return {mount.source};
  return {};
}

}  // namespace

std::vector<MountEntry> MountsAbove(const std::vector<MountEntry>& mounts,
                                    const std::string& mountpoint) {
  std::vector<MountEntry> above;
  std::copy_if(mounts.begin(), mounts.end(), std::back_inserter(above),
               [&](const MountEntry& mount) {
                 const std::vector<std::string> shown = Below(mount);
                 return mount.mountpoint != mountpoint &&
                        std::any_of(shown.begin(), shown.end(),
                                    [&](const std::string& path) {
                                      return LiesBelow(path, mountpoint);
                                    });
               });
  return above;
}

std::vector<std::string> WarnOfMountsAbove(const std::string& mountpoint) {
  std::vector<std::string> warnings;
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return warnings;
  for (const MountEntry& mount : MountsAbove(*mounts, mountpoint)) {
    warnings.push_back(absl::StrCat(
        mount.mountpoint, " (", mount.type,
        ") shows this mount and remembers its names: they are wrong or stale "
        "there once an epoch has changed; put it over a mount whose epoch "
        "stays (epoch.start = N, epoch.advance = manual)"));
  }
  return warnings;
}

}  // namespace shufflefs
