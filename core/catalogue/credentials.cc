// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/credentials.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace shufflefs {
namespace {

constexpr uint32_t kDefaultOverflowId = 65534;

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A kernel without user namespaces has no map.
absl::optional<uint32_t> IdOf(const char* map, const char* overflow) {
  if (access(map, F_OK) != 0) return absl::nullopt;
  return OverflowIdIn(TextOf(map), TextOf(overflow));
}

}  // namespace

Credentials Credentials::OfProcess() {
  Credentials me;
  me.uid = geteuid();
  me.gid = getegid();
  int count = getgroups(0, nullptr);
  if (count > 0) {
    me.groups.resize(static_cast<size_t>(count));
    count = getgroups(count, me.groups.data());
    me.groups.resize(static_cast<size_t>(std::max(count, 0)));
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) == 0) {
    constexpr unsigned kReading =
        1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    me.reads_all = (data[0].effective & kReading) != 0;
  }
  return me;
}

absl::optional<uint32_t> OverflowIdIn(absl::string_view map,
                                      absl::string_view id) {
  // All except the last one, which is none. The ranges of a map do not overlap.
  constexpr uint64_t kAllIds = 0xFFFFFFFF;
  uint64_t mapped = 0;
  for (const absl::string_view line : absl::StrSplit(map, '\n')) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t count = 0;
    if (fields.size() == 3 && absl::SimpleAtoi(fields[2], &count)) {
      mapped += count;
    }
  }
  if (mapped >= kAllIds) return absl::nullopt;
  uint32_t overflow = 0;
  return absl::SimpleAtoi(id, &overflow) ? overflow : kDefaultOverflowId;
}

OverflowIds OverflowIds::OfProcess() {
  return {IdOf("/proc/self/uid_map", "/proc/sys/kernel/overflowuid"),
          IdOf("/proc/self/gid_map", "/proc/sys/kernel/overflowgid")};
}

OverflowIds OverflowIds::OfIdmapped() {
  constexpr char kNothing[] = "";
  return {OverflowIdIn(kNothing, TextOf("/proc/sys/kernel/overflowuid")),
          OverflowIdIn(kNothing, TextOf("/proc/sys/kernel/overflowgid"))};
}

absl::optional<uid_t> OverflowIds::UserOf(uid_t owner) const {
  if (uid == owner) return absl::nullopt;
  return owner;
}

mode_t OverflowIds::Limit(mode_t mode, uid_t owner, gid_t group) const {
  const mode_t others = mode >> 3 & mode & 7;
  if (uid == owner) return mode & (~0777u | (mode >> 6 & others) * 0111);
  if (gid == group) return mode & (~0077u | others * 011);
  return mode;
}

bool Credentials::MayRead(const FileAttributes& file) const {
  if (reads_all) return true;
  // The first class that matches decides, even if it denies.
  if (file.uid == uid) return (file.mode & S_IRUSR) != 0;
  if (file.gid == gid ||
      std::find(groups.begin(), groups.end(), file.gid) != groups.end()) {
    return (file.mode & S_IRGRP) != 0;
  }
  return (file.mode & S_IROTH) != 0;
}

}  // namespace shufflefs
