// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/place_warnings.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

bool HasFiles(const std::string& directory) {
  std::error_code error;
  const std::filesystem::directory_iterator first(directory, error);
  return !error && first != std::filesystem::directory_iterator();
}

bool IsMountPoint(const std::string& path,
                  const std::vector<MountEntry>& mounts) {
  return std::any_of(
      mounts.begin(), mounts.end(),
      [&](const MountEntry& mount) { return mount.mountpoint == path; });
}

// The shufflefs mount that contains `path` by its name. "" if none does.
std::string ShufflefsAbove(const std::string& path,
                           const std::vector<MountEntry>& mounts) {
  std::string nearest;
  for (const MountEntry& mount : mounts) {
    if (mount.is_shufflefs() && LiesBelow(path, mount.mountpoint) &&
        mount.mountpoint.size() > nearest.size()) {
      nearest = mount.mountpoint;
    }
  }
  return nearest;
}

}  // namespace

std::vector<std::string> PlaceWarnings(const MountConfig& config,
                                       const std::vector<MountEntry>& mounts) {
  std::vector<std::string> warnings;
  const std::string& source = config.source;
  const std::string& mountpoint = config.mountpoint;
  const bool covers = IsMountPoint(mountpoint, mounts);
  const std::string above = ShufflefsAbove(source, mounts);
  // Over its own source, a dead mount is cleared first.
  if (!above.empty() && above != mountpoint) {
    warnings.push_back(absl::StrCat(
        source, " is in the shufflefs mount ", above,
        ", so samples are shuffled twice; mount the source of that instead"));
  }
  if (source == mountpoint) return warnings;
  if (LiesBelow(source, mountpoint)) {
    warnings.push_back(absl::StrCat(mountpoint,
                                    " contains the source, which "
                                    "the mount hides from other programs; "
                                    "choose a mount point outside of it"));
  } else if (!covers && HasFiles(mountpoint)) {
    warnings.push_back(absl::StrCat(
        mountpoint, " is not empty; its files are hidden until you unmount"));
  }
  return warnings;
}

}  // namespace shufflefs
