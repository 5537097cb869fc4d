// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr int kMostLinksFollowed = 40;  // the kernel's own limit
// Nothing can be there. Not "", which often says that there is no such key.
constexpr char kNowhere[] = "/dev/null/too-many-links";

// The target of a link; "" if there is none at `path`.
std::string LinkAt(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  target.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return target;
}

// Constant after construction.
class CoveredDir {
 public:
  // `path` has no links.
  CoveredDir(std::string path, UniqueFd fd)
      : path_(path == "/" ? "" : std::move(path)), fd_(std::move(fd)) {}

  // Follows links by their names. If one leads back into the directory, the
  // kernel would follow it, or its "..", into the mount.
  std::string PathTo(const std::string& path) const {
    if (path.empty() || path.front() != '/') return path;
    std::deque<std::string> names = absl::StrSplit(path, '/');
    std::string at;  // without links; "" is the root
    bool inside = IsInside(at);
    for (int links = 0; !names.empty();) {
      const std::string name = std::move(names.front());
      names.pop_front();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        if (!at.empty()) at.resize(at.rfind('/'));
        continue;
      }
      const std::string next = absl::StrCat(at, "/", name);
      // The directory itself is none, but its descriptor looks like one.
      const std::string target = next == path_ ? "" : LinkAt(Past(next));
      if (target.empty()) {
        at = next;
        inside = inside || IsInside(at);
        continue;
      }
      if (++links > kMostLinksFollowed) return inside ? kNowhere : path;
      if (target.front() == '/') at.clear();
      const std::vector<std::string> more = absl::StrSplit(target, '/');
      names.insert(names.begin(), more.begin(), more.end());
    }
    return inside ? Past(at) : path;
  }

 private:
  bool IsInside(absl::string_view at) const {
    return absl::ConsumePrefix(&at, path_) && (at.empty() || at.front() == '/');
  }

  // The path of `at` that does not lead through the mount.
  std::string Past(const std::string& at) const {
    if (!IsInside(at)) return at.empty() ? "/" : at;
    return absl::StrCat("/proc/self/fd/", fd_.get(), at.substr(path_.size()));
  }

  const std::string path_;  // "" is the root
  const UniqueFd fd_;
};

}  // namespace

absl::StatusOr<PathReach> ReachBelow(const std::string& mountpoint) {
  std::error_code error;
  std::string path = std::filesystem::canonical(mountpoint, error);
  if (error) return ErrnoStatus(error.value(), mountpoint);
  UniqueFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, mountpoint);
  return PathReach(
      [dir =
           std::make_shared<const CoveredDir>(std::move(path), std::move(fd))](
          const std::string& asked) { return dir->PathTo(asked); });
}

}  // namespace shufflefs
