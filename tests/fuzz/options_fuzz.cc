// SPDX-License-Identifier: Apache-2.0
// The command line: arguments are the lines of the input. Refusals are one
// line, and what is accepted has absolute paths and at least one view.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "mount-tools/daemon/command_line.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (absl::StrContains(text, "config")) return 0;  // would read files
  const std::vector<std::string> arguments = absl::StrSplit(text, '\n');
  const absl::StatusOr<shufflefs::CommandLine> line =
      shufflefs::ParseCommandLine(arguments, "/home/u");
  if (!line.ok()) {
    Check(absl::IsInvalidArgument(line.status()));
    Check(!absl::StrContains(line.status().message(), '\n'));
    return 0;
  }
  if (line->action != shufflefs::CommandLine::Action::kMount) return 0;
  Check(absl::StartsWith(line->config.source, "/"));
  Check(absl::StartsWith(line->config.mountpoint, "/"));
  Check(!line->config.views.empty());
  for (const std::string& option : arguments) {
    for (const std::string& word : shufflefs::SplitMountOptions(option)) {
      Check(!word.empty());
    }
  }
  return 0;
}
