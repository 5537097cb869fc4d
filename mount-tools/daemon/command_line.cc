// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/config/paths.h"

namespace shufflefs {
namespace {

// Words that mount(8), fstab and systemd pass and that need nothing from us:
// they are for the tools above us, always so (default_permissions, noatime), or
// decided by the kernel (nosuid, nodev).
constexpr absl::string_view kIgnoredWords[] = {
    "_netdev",  "async",   "atime",       "auto",
    "defaults", "dev",     "diratime",    "default_permissions",
    "exec",     "group",   "lazytime",    "loud",
    "noatime",  "noauto",  "nodev",       "nodiratime",
    "noexec",   "nofail",  "nogroup",     "nolazytime",
    "nonempty", "noowner", "norelatime",  "nostrictatime",
    "nosuid",   "nouser",  "nousers",     "owner",
    "relatime", "silent",  "strictatime", "suid",
    "user",     "users"};

struct RawArguments {
  std::vector<std::string> paths;
  std::vector<std::string> options;  // of every -o, unsplit
  std::string config;
  bool foreground = false;
  bool debug = false;
  bool help = false;
  bool version = false;
};

absl::StatusOr<RawArguments> SplitArguments(
    const std::vector<std::string>& arguments) {
  RawArguments raw;
  CLI::App app;
  app.set_help_flag();
  app.add_option("paths", raw.paths);
  // One argument per -o, however often it comes. Commas are kept.
  app.add_option("-o", raw.options)->allow_extra_args(false);
  app.add_option("--config", raw.config);
  app.add_flag("-f,--foreground", raw.foreground);
  app.add_flag("-d,--debug", raw.debug);
  app.add_flag("-h,--help", raw.help);
  app.add_flag("-V,--version", raw.version);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), "; see shufflefs --help"));
  }
  return raw;
}

bool IsIgnored(absl::string_view word) {
  return absl::StartsWith(word, "x-") || absl::StartsWith(word, "X-") ||
         absl::StartsWith(word, "comment=") ||
         std::find(std::begin(kIgnoredWords), std::end(kIgnoredWords), word) !=
             std::end(kIgnoredWords);
}

// Applies one key=value to every view, or to the mount.
absl::Status ApplyKey(absl::string_view key, std::string value,
                      absl::string_view cwd, MountConfig& config) {
  const Option* option = FindOption(key);
  if (option == nullptr) return NoSuchKey(key);
  if (key == "path" && config.views.size() > 1) {
    return absl::InvalidArgumentError(
        "path: the configuration file has several views; write it there");
  }
  if (option->kind == ValueKind::kPath && key != "path" && !value.empty()) {
    value = AbsolutePath(value, cwd);
  }
  for (ViewConfig& view : config.views) {
    RETURN_IF_ERROR(SetOption(key, value, config, view));
  }
  return absl::OkStatus();
}

absl::Status ApplyWord(absl::string_view word, absl::string_view cwd,
                       MountConfig& config) {
  if (IsIgnored(word)) return absl::OkStatus();
  if (word == "ro" || word == "rw") {
    config.read_only = word == "ro";
    return absl::OkStatus();
  }
  if (word == "allow_other") {
    config.allow_other = true;
    return absl::OkStatus();
  }
  const size_t equals = word.find('=');
  if (equals != absl::string_view::npos) {
    return ApplyKey(word.substr(0, equals),
                    std::string(word.substr(equals + 1)), cwd, config);
  }
  const Option* option = FindOption(word);
  if (option == nullptr) return NoSuchKey(word);
  return absl::InvalidArgumentError(
      absl::StrCat(word, ": needs a value: must be ", option->values));
}

// The keys of --help, one line each.
std::string KeysHelp() {
  std::string text;
  for (const Option& option : Options()) {
    absl::StrAppendFormat(&text, "  %-18s%s (default: %s)\n", option.key,
                          option.help, option.default_text);
  }
  return text;
}

}  // namespace

std::vector<std::string> SplitMountOptions(absl::string_view text) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size() &&
                        (text[i + 1] == ',' || text[i + 1] == '\\');
    if (escape) {
      words.back().push_back(text[++i]);
    } else if (text[i] == ',') {
      words.emplace_back();
    } else {
      words.back().push_back(text[i]);
    }
  }
  words.erase(std::remove(words.begin(), words.end(), ""), words.end());
  return words;
}

absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& arguments, absl::string_view cwd) {
  ASSIGN_OR_RETURN(RawArguments raw, SplitArguments(arguments));
  CommandLine line;
  if (raw.help || raw.version) {
    line.action =
        raw.help ? CommandLine::Action::kHelp : CommandLine::Action::kVersion;
    return line;
  }
  if (raw.paths.size() != 2 || raw.paths[0].empty() || raw.paths[1].empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "SOURCE and MOUNTPOINT are needed, ", raw.paths.size(),
        raw.paths.size() == 1 ? " path is given" : " paths are given",
        "; see shufflefs --help"));
  }
  line.config.views.emplace_back();
  if (!raw.config.empty()) {
    ASSIGN_OR_RETURN(line.config, LoadConfigFile(raw.config, cwd));
  }
  for (const std::string& option : raw.options) {
    for (const std::string& word : SplitMountOptions(option)) {
      RETURN_IF_ERROR(Annotate(ApplyWord(word, cwd, line.config), "-o"));
    }
  }
  RETURN_IF_ERROR(ValidateMount(line.config));
  line.config.source = AbsolutePath(raw.paths[0], cwd);
  line.config.mountpoint = AbsolutePath(raw.paths[1], cwd);
  line.run.debug = raw.debug;
  line.run.foreground = raw.foreground || raw.debug;
  return line;
}

std::string HelpText() {
  return absl::StrCat(
      "usage: shufflefs [options] SOURCE MOUNTPOINT\n"
      "\n"
      "Shows SOURCE, a training dataset, at MOUNTPOINT in an order that is\n"
      "decided anew each epoch. SOURCE is never written to.\n"
      "\n"
      "options:\n"
      "  -o KEY=VALUE,...  set keys; may be repeated\n"
      "  -o ro, -o rw      without or with a writable control file\n"
      "  -o allow_other    let other users see the mount\n"
      "  --config FILE     read keys from a TOML file; -o wins over it\n"
      "  -f, --foreground  stay in the foreground and log to stderr\n"
      "  -d, --debug       as -f, and log every request\n"
      "  -h, --help        print this\n"
      "  -V, --version     print the version\n"
      "\n"
      "keys (the same in -o, in the TOML file and in the control file):\n",
      KeysHelp(),
      "\n"
      "See shufflefs(1) and shufflefs.toml(5). What to expect of a dataset,\n"
      "before mounting it: shufflectl check SOURCE\n");
}

std::string VersionText() {
  return absl::StrCat("shufflefs ", SHUFFLEFS_VERSION, "\n");
}

}  // namespace shufflefs
