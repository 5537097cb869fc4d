// SPDX-License-Identifier: Apache-2.0
// shufflefs mounts a shuffled view of a dataset directory. See shufflefs(1).
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/machine_memory.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/engine/state_dir.h"
#include "mount-tools/config/mount_places.h"
#include "mount-tools/config/option_values.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/config/tier_capacity.h"
#include "mount-tools/daemon/command_line.h"
#include "mount-tools/daemon/daemon.h"
#include "mount-tools/daemon/help_text.h"
#include "mount-tools/daemon/place_warnings.h"
#include "mount-tools/daemon/uncaught.h"

namespace shufflefs {
namespace {

using option_values::kMinMemory;
constexpr int kWrongUsage = 2;

int Fail(const absl::Status& status) {
  const std::string line = absl::StrCat(
      "shufflefs: ", ShownLines(WithNextOfErrno(status).message()), "\n");
  std::fputs(line.c_str(), stderr);
  return absl::IsInvalidArgument(status) ? kWrongUsage : 1;
}

int Print(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0;
  return written && std::fflush(stdout) == 0 ? 0 : 1;
}

// The size that a percentage stands for.
absl::Status FindMemory(MountConfig& config) {
  if (config.memory_percent == 0) return absl::OkStatus();
  const uint64_t spare = MachineMemoryBytes();
  if (spare == 0) {
    return absl::InvalidArgumentError(
        "memory: nothing tells how much memory this machine has; give a size, "
        "such as 8GiB");
  }
  config.memory = std::max(spare / 100 * config.memory_percent, kMinMemory);
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<std::string> cwd = WorkingDirectory();
  if (!cwd.ok()) return Fail(cwd.status());
  absl::StatusOr<CommandLine> line = ParseCommandLine(arguments, *cwd);
  if (!line.ok()) return Fail(line.status());
  switch (line->action) {
    case CommandLine::Action::kHelp: {
      const absl::StatusOr<std::string> help = HelpText(line->help_topic);
      return help.ok() ? Print(*help) : Fail(help.status());
    }
    case CommandLine::Action::kVersion:
      return Print(VersionText());
    case CommandLine::Action::kMount:
      break;
  }
  // A mount is looked for by the name that the kernel has for it.
  line->config.mountpoint = WithoutLinks(line->config.mountpoint);
  // The state path is made absolute, so that the control file shows where the
  // state is.
  absl::StatusOr<std::string> state = StatePath(line->config);
  if (!state.ok()) return Fail(state.status());
  line->config.state = *std::move(state);
  if (const absl::Status places = CheckPlaces(line->config); !places.ok()) {
    return Fail(places);
  }
  if (const absl::Status found = FindMemory(line->config); !found.ok()) {
    return Fail(found);
  }
  if (const absl::Status found = FindTierCapacity(line->config); !found.ok()) {
    return Fail(found);
  }
  if (const auto mounts = ReadMountInfo(); mounts.ok()) {
    for (std::string& warning : PlaceWarnings(line->config, *mounts)) {
      line->config.notes.push_back(std::move(warning));
    }
  }
  return RunMount(line->config, line->run);
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  // Where a parent ignores it, how a child ended would not be known.
  std::signal(SIGCHLD, SIG_DFL);
  shufflefs::EndOnUncaught();
  try {
    return shufflefs::Main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {  // no memory, or no thread
    std::fprintf(stderr, "shufflefs: %s\n", error.what());
    return 1;
  }
}
