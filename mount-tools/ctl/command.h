// SPDX-License-Identifier: Apache-2.0
// Command is one command of shufflectl, with its own options and a run. There
// is one file pair per command; commands.cc lists them.
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

// The environment of a command. Outlives it. The streams are not owned.
struct CommandContext {
  std::string cwd;            // absolute; relative paths are below it
  std::ostream* out;          // results
  std::ostream* err;          // progress and remarks
  bool err_terminal = false;  // progress is shown only on a terminal
  bool out_terminal = false;  // a table that is repeated replaces the last
};

// Used once, by one thread: Declare, then Run after parsing.
class Command {
 public:
  virtual ~Command() = default;
  virtual absl::string_view name() const = 0;
  virtual absl::string_view help() const = 0;  // one line, no full stop
  // Adds arguments and options to the command's parser. They write into this
  // object.
  virtual void Declare(CLI::App& app) = 0;
  // Blocks until done. The user sees the message of an error. InvalidArgument
  // means wrong usage.
  virtual absl::Status Run(const CommandContext& context) = 0;

  // Where the words after `--` go, for a command that runs a program. They are
  // not parsed. Null: they are arguments like others.
  virtual std::vector<std::string>* program() { return nullptr; }
  // The exit status of shufflectl after parsing or Run ended with `status`.
  virtual int ExitStatus(const absl::Status& status) const;
};

std::vector<std::unique_ptr<Command>> MakeCommands();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_COMMAND_H_
