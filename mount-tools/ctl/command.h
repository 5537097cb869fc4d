// SPDX-License-Identifier: Apache-2.0
// What every command of shufflectl is: options of its own, and a run. One
// file pair a command; commands.cc lists them.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_COMMAND_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
}  // namespace CLI

namespace shufflefs {

// Where a command runs. Outlives it; the streams are not owned.
struct CommandContext {
  std::string cwd;            // absolute: what relative paths are below
  std::ostream* out;          // results
  std::ostream* err;          // progress and remarks
  bool err_terminal = false;  // progress is drawn only there
};

// Used once, by one thread: Declare, then Run after parsing.
class Command {
 public:
  virtual ~Command() = default;
  virtual absl::string_view name() const = 0;
  virtual absl::string_view help() const = 0;  // one line, no full stop
  // Adds arguments and options to the command's own parser; they write into
  // this object.
  virtual void Declare(CLI::App& app) = 0;
  // Blocks until done. The message of an error is what the user sees;
  // InvalidArgument means wrong usage.
  virtual absl::Status Run(const CommandContext& context) = 0;
};

std::vector<std::unique_ptr<Command>> MakeCommands();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_COMMAND_H_
