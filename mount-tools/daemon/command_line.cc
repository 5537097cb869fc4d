// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/config/paths.h"

namespace shufflefs {
namespace {

// Words that mount(8), fstab and systemd pass and that need nothing from us:
// they are for the tools above us, or always so (default_permissions, noatime,
// nosuid, nodev).
constexpr absl::string_view kIgnoredWords[] = {
    "_netdev",     "async",         "atime",      "auto",
    "defaults",    "dev",           "diratime",   "default_permissions",
    "group",       "lazytime",      "loud",       "noatime",
    "noauto",      "nodev",         "nodiratime", "nofail",
    "nogroup",     "nolazytime",    "nonempty",   "noowner",
    "norelatime",  "nostrictatime", "nosuid",     "nouser",
    "nousers",     "owner",         "relatime",   "silent",
    "strictatime", "suid"};

struct RawArguments {
  std::vector<std::string> paths;
  std::vector<std::string> options;  // of every -o, unsplit
  std::string config;
  bool foreground = false;
  bool debug = false;
  std::string help;  // "true" for --help alone, as CLI11 has it
  bool version = false;
};

// `--policy lirs`, `--policy=lirs` or `policy=lirs` is meant as a key: how it
// is written. "" if no argument is such.
std::string HintOfKey(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view word = arguments[i];
    const bool has_dashes = absl::ConsumePrefix(&word, "--");
    const size_t equals = word.find('=');
    const absl::string_view key = word.substr(0, equals);
    if (FindOption(key) == nullptr) continue;
    if (equals != absl::string_view::npos) {
      return absl::StrCat("use -o ", word);
    }
    if (!has_dashes) continue;
    const bool has_value =
        i + 1 < arguments.size() && !absl::StartsWith(arguments[i + 1], "-");
    return absl::StrCat("use -o ", key, "=",
                        has_value ? arguments[i + 1] : "VALUE");
  }
  return "";
}

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
  std::vector<std::string> reversed = WithoutLists(arguments);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::Error& error) {
    const std::string hint = HintOfKey(arguments);
    return absl::InvalidArgumentError(absl::StrCat(
        error.what(), "; ", hint.empty() ? "see shufflefs --help" : hint));
  }
  return raw;
}

bool IsIgnored(absl::string_view word) {
  return absl::StartsWith(word, "x-") || absl::StartsWith(word, "X-") ||
         absl::StartsWith(word, "comment=") ||
         std::find(std::begin(kIgnoredWords), std::end(kIgnoredWords), word) !=
             std::end(kIgnoredWords);
}

// What a word says about running programs of the mount, if anything. mount(8):
// `user` and `users` forbid it unless a later word allows it.
absl::optional<bool> NoExecOf(absl::string_view word) {
  if (word == "exec") return false;
  if (word == "noexec" || word == "user" || word == "users") return true;
  return absl::nullopt;
}

// Applies one key=value to every view, or to the mount.
absl::Status ApplyKey(absl::string_view key, const std::string& value,
                      absl::string_view cwd, MountConfig& config) {
  if (FindOption(key) == nullptr) return NoSuchKey(key);
  if (key == "path" && config.views.size() > 1) {
    return absl::InvalidArgumentError(
        "path: the configuration file has several views; write it there");
  }
  for (ViewConfig& view : config.views) {
    RETURN_IF_ERROR(SetOptionBelow(cwd, key, value, config, view));
  }
  return absl::OkStatus();
}

bool IsPolicy(absl::string_view word) {
  MountConfig mount;
  ViewConfig view;
  return FindOption("policy")->Set(word, mount, view);
}

absl::Status ApplyWord(absl::string_view word, absl::string_view cwd,
                       CommandLine& line) {
  MountConfig& config = line.config;
  if (IsIgnored(word)) return absl::OkStatus();
  if (const absl::optional<bool> no_exec = NoExecOf(word)) {
    line.run.no_exec = *no_exec;
    return absl::OkStatus();
  }
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
  if (option == nullptr && IsPolicy(word)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no such key: ", word, "; did you mean policy=", word, "?"));
  }
  if (option == nullptr) return NoSuchKey(word);
  return absl::InvalidArgumentError(
      absl::StrCat(word, ": needs a value: must be ", option->values));
}

absl::Status CheckPaths(const std::vector<std::string>& paths) {
  if (paths.size() == 2 && !paths[0].empty() && !paths[1].empty()) {
    return absl::OkStatus();
  }
  const std::string hint = HintOfKey(paths);
  return absl::InvalidArgumentError(absl::StrCat(
      "SOURCE and MOUNTPOINT are needed, ", paths.size(),
      paths.size() == 1 ? " path is given; " : " paths are given; ",
      hint.empty() ? "see shufflefs --help" : hint));
}

// An option of a rule: `-o record.as=*.bin:fixed,bytes=785` splits it off.
bool BelongsToRule(absl::string_view word) {
  return absl::StartsWith(word, "bytes=") ||
         absl::StartsWith(word, "header=") || absl::StartsWith(word, "csv=");
}

// The words of one -o. What a rule of record.as is followed by stays with it.
std::vector<std::string> WordsOf(absl::string_view option) {
  std::vector<std::string> words;
  for (std::string& word : SplitMountOptions(option)) {
    if (!words.empty() && absl::StartsWith(words.back(), "record.as=") &&
        BelongsToRule(word)) {
      absl::StrAppend(&words.back(), ",", word);
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

// The configuration file of --config or -o config=; "" if there is none.
// `words` becomes the other words of -o. fstab has no place for --config.
absl::StatusOr<std::string> ConfigFileOf(const RawArguments& raw,
                                         std::vector<std::string>& words) {
  std::string file = raw.config;
  for (const std::string& option : raw.options) {
    for (std::string& word : WordsOf(option)) {
      absl::string_view path = word;
      if (!absl::ConsumePrefix(&path, "config=")) {
        words.push_back(std::move(word));
        continue;
      }
      if (path.empty() || !file.empty()) {
        return absl::InvalidArgumentError(
            path.empty() ? "-o: config: needs the path of a file"
                         : "one configuration file is allowed, two are given");
      }
      file = std::string(path);
    }
  }
  return file;
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
  if (!raw.help.empty()) {
    line.action = CommandLine::Action::kHelp;
    if (raw.help != "true") line.help_topic = raw.help;
    return line;
  }
  if (raw.version) {
    line.action = CommandLine::Action::kVersion;
    return line;
  }
  RETURN_IF_ERROR(CheckPaths(raw.paths));
  std::vector<std::string> words;
  ASSIGN_OR_RETURN(const std::string file, ConfigFileOf(raw, words));
  line.config.views.emplace_back();
  if (!file.empty()) {
    ASSIGN_OR_RETURN(line.config, LoadConfigFile(file, cwd));
  }
  const bool file_is_whole = ValidateMount(line.config).ok();
  for (const std::string& word : words) {
    RETURN_IF_ERROR(Annotate(ApplyWord(word, cwd, line), "-o"));
  }
  if (absl::Status valid = ValidateMount(line.config); !valid.ok()) {
    return file_is_whole ? valid : Annotate(valid, file);
  }
  line.config.source = AbsolutePath(raw.paths[0], cwd);
  line.config.mountpoint = AbsolutePath(raw.paths[1], cwd);
  line.run.debug = raw.debug;
  line.run.foreground = raw.foreground || raw.debug;
  return line;
}

std::string VersionText() {
  return absl::StrCat("shufflefs ", SHUFFLEFS_VERSION, "\n");
}

}  // namespace shufflefs
