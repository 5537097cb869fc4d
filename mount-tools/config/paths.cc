// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/paths.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shufflefs {

std::string AbsolutePath(absl::string_view path, absl::string_view base) {
  std::string joined;
  if (!absl::StartsWith(path, "/")) {
    joined = absl::StrCat(base, "/", path);
    path = joined;
  }
  std::vector<absl::string_view> parts;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return absl::StrCat("/", absl::StrJoin(parts, "/"));
}

absl::Status RefuseHome(absl::string_view path) {
  if (path != "~" && !absl::StartsWith(path, "~/")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ~ is not replaced here; write the whole path"));
}

std::vector<std::string> WithoutLists(std::vector<std::string> words) {
  absl::string_view before;
  for (std::string& word : words) {
    const bool is_value = before == "-o" || before == "--view" ||
                          before == "--policy" || before == "-I" ||
                          before == "--replace";
    if (!is_value && absl::StartsWith(word, "[")) word.insert(0, "./");
    before = word;
  }
  return words;
}

std::string DirName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

absl::StatusOr<std::string> WorkingDirectory() {
  // Without a buffer, glibc allocates one that is long enough.
  const std::unique_ptr<char, decltype(&free)> path(getcwd(nullptr, 0), &free);
  if (path != nullptr) return std::string(path.get());
  const int error = errno;
  // Of a directory that was deleted this is "/its/path (deleted)". Absolute
  // paths do not need it, and below it there is nothing.
  std::error_code none;
  const std::string was =
      std::filesystem::read_symlink("/proc/self/cwd", none).string();
  if (error == ENOENT && absl::EndsWith(was, " (deleted)") &&
      !std::filesystem::exists(was, none)) {
    return was;
  }
  return ErrnoStatus(error, "working directory");
}

}  // namespace shufflefs
