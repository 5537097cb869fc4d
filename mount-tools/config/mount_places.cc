// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/mount_places.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/mount_table.h"
#include "core/base/status.h"
#include "mount-tools/config/paths.h"

namespace shufflefs {
namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

absl::optional<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(
      realpath(path.c_str(), nullptr), &free);
  if (real == nullptr) return absl::nullopt;
  return std::string(real.get());
}

// Its target. "" if it is no link.
std::string TargetOf(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  return size <= 0 ? "" : std::string(target.data(), static_cast<size_t>(size));
}

std::string Joined(absl::string_view directory, absl::string_view name) {
  return absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/",
                      name);
}

absl::Status RefuseInSource(absl::string_view what, const std::string& path,
                            const std::string& source,
                            absl::string_view option) {
  if (path.empty() || (!LiesBelow(path, source) &&
                       !LiesBelow(WithoutLinks(path), WithoutLinks(source)))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(what, " ", path, ": lies in the source ", source,
                   ", which is never written; name a place outside of it with "
                   "-o ",
                   option, "=DIR"));
}

}  // namespace

std::string WithoutLinks(const std::string& path) {
  std::string now = path;
  for (int links = 0; links < kMostLinks && now != "/"; ++links) {
    const std::string name = now.substr(now.rfind('/') + 1);
    if (name.empty() || name == "." || name == "..") {
      return RealPath(now).value_or(path);
    }
    const std::string above = DirName(now);
    const absl::optional<std::string> directory = RealPath(above);
    // What is missing has no links.
    if (!directory) return Joined(WithoutLinks(above), name);
    now = Joined(*directory, name);
    const std::string target = TargetOf(now);
    if (target.empty()) return now;
    now = target.front() == '/' ? target : Joined(*directory, target);
  }
  return now;
}

absl::Status CheckPlaces(const MountConfig& config) {
  if (config.mountpoint == "/") {
    return absl::FailedPreconditionError(
        "/: everything lies below it and would be hidden; make a directory, "
        "and name that as the mount point");
  }
  const absl::Status state =
      RefuseInSource("state", config.state, config.source, "state");
  if (!state.ok()) return state;
  return RefuseInSource("tier", config.tier_path, config.source, "tier.path");
}

absl::Status CheckMountpoint(const std::string& mountpoint) {
  struct stat st;
  if (stat(mountpoint.c_str(), &st) != 0) {
    const int error = errno;
    const absl::Status status = ErrnoStatus(error, mountpoint);
    if (error == EACCES) {
      return WithNext(status, "choose a mount point that you may enter");
    }
    if (error != ENOENT) return status;
    return WithNext(
        status, absl::StrCat("make the mount point: mkdir -p ", mountpoint));
  }
  if (!S_ISDIR(st.st_mode)) {
    return WithNext(ErrnoStatus(ENOTDIR, mountpoint),
                    "name a directory to mount on");
  }
  // fusermount3 mounts for a user only where he may write.
  if (geteuid() != 0 && access(mountpoint.c_str(), W_OK) != 0 &&
      errno == EACCES) {
    return WithNext(ErrnoStatus(EACCES, mountpoint),
                    "choose a mount point that you may write to");
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
