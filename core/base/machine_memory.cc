// SPDX-License-Identifier: Apache-2.0
#include "core/base/machine_memory.h"

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"

namespace shufflefs {
namespace {

constexpr char kCgroups[] = "/sys/fs/cgroup";
// Version 1 writes "no limit" as a number near 2^63.
constexpr uint64_t kUnlimited = uint64_t{1} << 60;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::optional<uint64_t> MemAvailable(const std::string& root) {
  const std::string text = ReadAll(root + "/proc/meminfo");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t kib = 0;
    if (!absl::ConsumePrefix(&line, "MemAvailable:") ||
        !absl::ConsumeSuffix(&line, " kB") ||
        !absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kib)) {
      continue;
    }
    return kib * 1024;
  }
  return absl::nullopt;
}

// "max" and anything that is no number set no limit.
absl::optional<uint64_t> Limit(const std::string& path) {
  uint64_t bytes = 0;
  const std::string text = ReadAll(path);
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &bytes) ||
      bytes >= kUnlimited) {
    return absl::nullopt;
  }
  return bytes;
}

// The group `path` and all its parents, "" last. Also ends at the root if a
// path does not exist here, as in a container that sees the host's paths.
std::vector<std::string> GroupAndParents(absl::string_view path) {
  std::vector<std::string> groups;
  while (!path.empty() && path != "/") {
    groups.emplace_back(path);
    path = path.substr(0, path.rfind('/'));
  }
  groups.emplace_back();
  return groups;
}

// The files that may limit this process.
std::vector<std::string> LimitFiles(const std::string& root) {
  std::vector<std::string> files;
  const std::string text = ReadAll(root + "/proc/self/cgroup");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[0] == "0" && fields[1].empty()) {  // version 2
      for (const std::string& group : GroupAndParents(fields[2])) {
        for (const char* name : {"memory.max", "memory.high"}) {
          files.push_back(absl::StrCat(kCgroups, group, "/", name));
          // Systems with version 1 may mount version 2 below it.
          files.push_back(absl::StrCat(kCgroups, "/unified", group, "/", name));
        }
      }
      continue;
    }
    for (absl::string_view controller : absl::StrSplit(fields[1], ',')) {
      if (controller != "memory") continue;
      for (const std::string& group : GroupAndParents(fields[2])) {
        files.push_back(absl::StrCat(kCgroups, "/", fields[1], group,
                                     "/memory.limit_in_bytes"));
      }
    }
  }
  return files;
}

}  // namespace

MachineMemory FindMachineMemory(const std::string& root) {
  MachineMemory memory;
  if (const absl::optional<uint64_t> available = MemAvailable(root)) {
    memory = {*available, "/proc/meminfo"};
  }
  for (const std::string& file : LimitFiles(root)) {
    const absl::optional<uint64_t> limit = Limit(root + file);
    if (!limit || (!memory.decided_by.empty() && *limit >= memory.bytes)) {
      continue;
    }
    memory = {*limit, file};
  }
  return memory;
}

}  // namespace shufflefs
