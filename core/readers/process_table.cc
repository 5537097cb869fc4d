// SPDX-License-Identifier: Apache-2.0
#include "core/readers/process_table.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {
namespace {

// The first kilobyte of a file, which contains most of what is needed.
constexpr size_t kShort = 1024;
constexpr size_t kEnvironment = 256 << 10;

// The first `most` bytes of a file. Empty if it cannot be read.
std::string ReadStart(const std::string& path, size_t most = kShort) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  std::string text;
  for (ssize_t size = 1; size > 0 && text.size() < most;) {
    const size_t before = text.size();
    text.resize(std::min(before + kShort, most));
    size = ::read(fd.get(), &text[before], text.size() - before);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
  return text;
}

}  // namespace

absl::optional<ProcessStat> ParseProcessStat(absl::string_view text) {
  // `id (command) state parent group …`; the command may contain any byte.
  const size_t command_end = text.rfind(')');
  if (command_end == absl::string_view::npos) return absl::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(
      text.substr(command_end + 1), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  constexpr size_t kState = 0, kParent = 1, kGroup = 2, kStart = 19;
  ProcessStat stat;
  if (fields.size() <= kStart ||
      !absl::SimpleAtoi(fields[kParent], &stat.parent) ||
      !absl::SimpleAtoi(fields[kGroup], &stat.group) ||
      !absl::SimpleAtoi(fields[kStart], &stat.start)) {
    return absl::nullopt;
  }
  stat.zombie = fields[kState] == "Z" || fields[kState] == "X";
  return stat;
}

absl::optional<uint32_t> ParseThreadGroup(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint32_t id;
    if (absl::ConsumePrefix(&line, "Tgid:") && absl::SimpleAtoi(line, &id)) {
      return id;
    }
  }
  return absl::nullopt;
}

absl::optional<ProcessStat> ProcessTable::Stat(uint32_t id) const {
  return ParseProcessStat(ReadStart(absl::StrCat(proc_, "/", id, "/stat")));
}

uint32_t ProcessTable::ProcessOf(uint32_t id) const {
  return ParseThreadGroup(ReadStart(absl::StrCat(proc_, "/", id, "/status")))
      .value_or(id);
}

std::string ProcessTable::Executable(uint32_t id) const {
  const std::string path = absl::StrCat(proc_, "/", id, "/exe");
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof(target));
  if (size <= 0) return "";
  // An upgrade while the job runs does not make it another program.
  return std::string(absl::StripSuffix(
      absl::string_view(target, static_cast<size_t>(size)), " (deleted)"));
}

std::string ProcessTable::Environment(uint32_t id) const {
  return ReadStart(absl::StrCat(proc_, "/", id, "/environ"), kEnvironment);
}

}  // namespace shufflefs
