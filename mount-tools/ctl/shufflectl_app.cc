// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/shufflectl_app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/nearest_word.h"
#include "mount-tools/config/paths.h"

namespace shufflefs {
namespace {

constexpr int kWrongUsage = 2;
constexpr size_t kHelpColumns = 80;

// Wraps what is said about an option.
class WrappedHelp : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    const size_t width = kHelpColumns - get_column_width();
    std::string text;
    size_t column = 0;
    for (const absl::string_view word :
         absl::StrSplit(option->get_description(), ' ')) {
      const bool fits = column + 1 + word.size() <= width;
      if (column > 0) text += fits ? ' ' : '\n';
      column = column > 0 && fits ? column + 1 + word.size() : word.size();
      absl::StrAppend(&text, word);
    }
    return text;
  }
};

// `command` is null if none was recognised.
int Fail(const absl::Status& status, const Command* command,
         const CommandContext& context) {
  *context.err << "shufflectl: "
               << ShownLines(WithNextOfErrno(status).message()) << "\n";
  if (command != nullptr) return command->ExitStatus(status);
  return absl::IsInvalidArgument(status) ? kWrongUsage : 1;
}

// The command that `arguments` name. Null if they name none.
Command* Named(const std::vector<std::string>& arguments,
               const std::vector<std::unique_ptr<Command>>& commands) {
  for (const auto& command : commands) {
    if (!arguments.empty() && command->name() == arguments.front()) {
      return command.get();
    }
  }
  return nullptr;
}

// Gives the words after `--` to the command, if it runs a program. Returns the
// others.
std::vector<std::string> TakeProgram(const std::vector<std::string>& arguments,
                                     Command* command) {
  std::vector<std::string>* const program =
      command == nullptr ? nullptr : command->program();
  if (program == nullptr) return arguments;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) program->assign(dashes + 1, arguments.end());
  return std::vector<std::string>(arguments.begin(), dashes);
}

std::string Help(const std::vector<std::unique_ptr<Command>>& commands) {
  std::string text =
      "usage: shufflectl COMMAND [options]\n"
      "\n"
      "Looks at a dataset before it is mounted, and at mounts of shufflefs.\n"
      "\n"
      "commands:\n";
  for (const auto& command : commands) {
    absl::StrAppendFormat(&text, "  %-10s%s\n", command->name(),
                          command->help());
  }
  absl::StrAppend(&text,
                  "\n"
                  "  -h, --help     print this; after a command: about it\n"
                  "  -V, --version  print the version\n"
                  "\n"
                  "See shufflectl(1).\n");
  return text;
}

struct Parsed {
  Command* command = nullptr;
  std::string print;  // printed instead of running a command
};

// Refuses a first word that is no command. The parser would report it as an
// unexpected argument.
absl::Status CheckCommandName(
    const std::vector<std::string>& arguments,
    const std::vector<std::unique_ptr<Command>>& commands) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("no command; see shufflectl --help");
  }
  const std::string& word = arguments.front();
  if (absl::StartsWith(word, "-")) return absl::OkStatus();
  std::vector<absl::string_view> names;
  for (const auto& command : commands) {
    if (command->name() == word) return absl::OkStatus();
    names.push_back(command->name());
  }
  const absl::string_view nearest = NearestWord(word, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "no such command: ", word, "; ",
      nearest.empty() ? "see shufflectl --help"
                      : absl::StrCat("did you mean ", nearest, "?")));
}

// The command's parser, declared once for help and for parsing.
void DeclareCommand(CLI::App& app, Command& command) {
  const std::string name(command.name());
  CLI::App* parser = app.add_subcommand(name, std::string(command.help()));
  parser->name(name);
  parser->set_help_flag("-h,--help", "print this");
  parser->formatter(std::make_shared<WrappedHelp>());
  command.Declare(*parser);
}

absl::StatusOr<Parsed> Parse(
    const std::vector<std::string>& arguments,
    const std::vector<std::unique_ptr<Command>>& commands) {
  RETURN_IF_ERROR(CheckCommandName(arguments, commands));
  CLI::App app("", "shufflectl");
  app.set_help_flag();
  bool help = false;
  bool version = false;
  app.add_flag("-h,--help", help);
  app.add_flag("-V,--version", version);
  app.require_subcommand(0, 1);
  for (const auto& command : commands) DeclareCommand(app, *command);
  try {
    std::vector<std::string> reversed = WithoutLists(arguments);
    std::reverse(reversed.begin(), reversed.end());
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return Parsed{nullptr, app.get_subcommands().front()->help("shufflectl")};
  } catch (const CLI::Error& error) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return absl::InvalidArgumentError(absl::StrCat(
        error.what(), "; see shufflectl ",
        chosen.empty() ? "" : chosen.front()->get_name() + " ", "--help"));
  }
  if (help) return Parsed{nullptr, Help(commands)};
  if (version) {
    return Parsed{nullptr,
                  absl::StrCat("shufflectl ", SHUFFLEFS_VERSION, "\n")};
  }
  for (const auto& command : commands) {
    if (app.got_subcommand(std::string(command->name()))) {
      return Parsed{command.get(), ""};
    }
  }
  return absl::InvalidArgumentError("no command; see shufflectl --help");
}

}  // namespace

int Command::ExitStatus(const absl::Status& status) const {
  if (status.ok()) return 0;
  return absl::IsInvalidArgument(status) ? kWrongUsage : 1;
}

int RunShufflectl(const std::vector<std::string>& arguments,
                  const CommandContext& context) {
  const std::vector<std::unique_ptr<Command>> commands = MakeCommands();
  Command* const named = Named(arguments, commands);
  const absl::StatusOr<Parsed> parsed =
      Parse(TakeProgram(arguments, named), commands);
  if (!parsed.ok()) return Fail(parsed.status(), named, context);
  Command* const command = parsed->command;
  if (command == nullptr) {
    *context.out << parsed->print;
  } else {
    const absl::Status status = command->Run(context);
    context.out->flush();
    if (!status.ok()) return Fail(status, command, context);
  }
  if (!context.out->flush()) {
    return Fail(
        absl::DataLossError("cannot write the output; free space there"),
        command, context);
  }
  return command == nullptr ? 0 : command->ExitStatus(absl::OkStatus());
}

}  // namespace shufflefs
