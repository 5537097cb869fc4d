// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/list/mount_facts.h"

#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fs/fuse/run_apart.h"
#include "mount-tools/ctl/umount/daemon_end.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {
namespace {

// When the process started. Empty if it is not visible.
absl::optional<int64_t> StartOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The name, in brackets, may hold anything. The third field follows it.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return absl::nullopt;
  const std::vector<std::string> fields =
      absl::StrSplit(text.substr(name_end + 1), ' ', absl::SkipEmpty());
  constexpr size_t kStartTime = 22 - 3;
  int64_t ticks = 0;
  if (fields.size() <= kStartTime ||
      !absl::SimpleAtoi(fields[kStartTime], &ticks)) {
    return absl::nullopt;
  }
  timespec running;
  if (clock_gettime(CLOCK_BOOTTIME, &running) != 0) return absl::nullopt;
  return time(nullptr) - running.tv_sec + ticks / sysconf(_SC_CLK_TCK);
}

}  // namespace

MountFacts AskFacts(const MountEntry& mount, const std::string& view) {
  MountFacts facts;
  facts.mountpoint = mount.mountpoint;
  facts.source = mount.source;
  facts.state = AskMount(mount.mountpoint, kPatience);
  if (facts.state != MountState::kAnswers) return facts;
  const MountClient client(mount.mountpoint, view);
  const auto read = [&client] { return client.Read("status").value_or(""); };
  facts.status = RunApart(read, kPatience).value_or("");
  return facts;
}

void FindDaemon(MountFacts& facts) {
  if (facts.status.empty()) return;
  facts.pid = DaemonOf(facts.mountpoint, kPatience);
  if (facts.pid != 0) facts.since = StartOf(facts.pid);
}

std::string WhyNoStatus(const MountFacts& facts) {
  switch (facts.state) {
    case MountState::kDead:
      return absl::StrCat(
          "its daemon is gone; remove it with: shufflectl umount ",
          facts.mountpoint);
    case MountState::kSilent:
      return absl::StrCat(
          "its daemon does not answer; end it with: shufflectl umount -l ",
          facts.mountpoint);
    case MountState::kRefuses:
      return "it is another user's";
    case MountState::kAnswers:
      break;
  }
  return "its status cannot be read";
}

}  // namespace shufflefs
