// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/run/private_dir.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "core/base/files/owned_dir.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

absl::StatusOr<std::string> MakeIn(const std::string& place) {
  std::string path = place + "/shufflefs-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, place);
  const absl::Status owned = OwnedDir::Make(path).status();
  // The kernel's table has mount points without links.
  const std::unique_ptr<char, decltype(&free)> real(
      realpath(path.c_str(), nullptr), &free);
  const absl::Status made =
      owned.ok() && real == nullptr ? ErrnoStatus(errno, path) : owned;
  if (made.ok()) return std::string(real.get());
  rmdir(path.c_str());
  return made;
}

}  // namespace

std::vector<std::string> PrivatePlaces() {
  std::vector<std::string> places;
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* const value = getenv(variable);
    if (value != nullptr && value[0] == '/') places.emplace_back(value);
  }
  places.emplace_back("/tmp");
  return places;
}

absl::StatusOr<PrivateDir> PrivateDir::Make(
    const std::vector<std::string>& places) {
  absl::Status why = absl::NotFoundError("no place for a mount; set TMPDIR");
  for (const std::string& place : places) {
    absl::StatusOr<std::string> path = MakeIn(place);
    if (!path.ok()) {
      why = path.status();
      continue;
    }
    PrivateDir dir(*std::move(path));
    for (const std::string& each : {dir.mountpoint(), dir.state()}) {
      if (mkdir(each.c_str(), 0700) == 0) continue;
      const int error = errno;
      static_cast<void>(dir.Remove());
      return ErrnoStatus(error, each);
    }
    return dir;
  }
  return why;
}

absl::Status PrivateDir::Remove() const {
  if (rmdir(mountpoint().c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, mountpoint());
  }
  std::error_code error;
  std::filesystem::remove_all(state(), error);
  if (error) return ErrnoStatus(error.value(), state());
  if (rmdir(path_.c_str()) != 0) return ErrnoStatus(errno, path_);
  return absl::OkStatus();
}

}  // namespace shufflefs
