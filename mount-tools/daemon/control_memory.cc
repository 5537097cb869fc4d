// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/control_memory.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/files/atomic_file.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"
#include "xxhash.h"

namespace shufflefs {
namespace {

constexpr char kHashKey[] = "command_line";
// Two sets of keys for each of 256 views, with paths of maximum length.
constexpr uint64_t kMostBytes = uint64_t{4} << 20;

// Hash of every key of every view. NUL occurs in no key and no value.
std::string HashOf(const MountConfig& mount) {
  std::string text;
  for (const ViewConfig& view : mount.views) {
    for (const Option& option : Options()) {
      if (absl::StartsWith(option.key, "log.")) continue;  // decides no name
      absl::StrAppend(&text, option.key, absl::string_view("\0", 1),
                      option.Get(mount, view), absl::string_view("\0", 1));
    }
  }
  return absl::StrCat(
      absl::Hex(XXH3_64bits(text.data(), text.size()), absl::kZeroPad16));
}

// Of the mount's keys none is kept: they decide no name.
bool IsKept(const Option& option) {
  return option.run_time && option.scope == OptionScope::kView;
}

// The keys that the control file may change. A key that is not given has an
// empty value, so it was not given on the same command line either. Only a list
// of numbers can be emptied.
std::string RunTimeKeys(const ViewConfig& view) {
  const MountConfig none;
  std::string text = "[[view]]\n";
  for (const Option& option : Options()) {
    if (!IsKept(option)) continue;
    absl::StrAppend(&text, option.key, " = ",
                    TomlString(option.Get(none, view)), "\n");
  }
  return text;
}

std::string Render(const MountConfig& command_line,
                   const std::vector<ViewKeys>& views) {
  std::string text = absl::StrCat(
      "# What was set through the control file, for each view: what runs, "
      "what is wanted.\n",
      kHashKey, " = ", TomlString(HashOf(command_line)), "\n");
  for (const ViewKeys& view : views) {
    text += RunTimeKeys(view.running) + RunTimeKeys(view.wanted);
  }
  return text;
}

absl::Status Apply(const std::vector<TomlSetting>& settings, ViewConfig& view) {
  MountConfig none;
  size_t keys = 0;
  for (const Option& option : Options()) keys += IsKept(option) ? 1 : 0;
  if (settings.size() != keys) {  // cut off at the end of a line
    return absl::InvalidArgumentError(
        absl::StrCat("a view has ", settings.size(), " keys"));
  }
  for (const TomlSetting& setting : settings) {
    const Option* option = FindOption(setting.key);
    if (option == nullptr || !IsKept(*option)) {
      return absl::InvalidArgumentError(
          absl::StrCat(setting.key, ": cannot be set while mounted"));
    }
    if (setting.value.empty() && !option->is_numbers()) continue;
    RETURN_IF_ERROR(SetOption(setting.key, setting.value, none, view));
  }
  return ValidateView(view);
}

// `key = value` for each difference, with the view's path if there are several.
std::vector<std::string> Differences(const MountConfig& before,
                                     const MountConfig& after) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < before.views.size(); ++i) {
    const ViewConfig& view = after.views[i];
    for (const Option& option : Options()) {
      const std::string value = option.Get(after, view);
      if (value == option.Get(before, before.views[i])) continue;
      lines.push_back(absl::StrCat(
          before.views.size() > 1 ? absl::StrCat(view.path, ": ") : "",
          option.key, " = ", value));
    }
  }
  return lines;
}

}  // namespace

ControlMemory::ControlMemory(FilePlace place, MountConfig command_line)
    : place_(std::move(place)),
      command_line_(std::move(command_line)),
      config_(command_line_),
      running_(command_line_.views.size()) {}

ControlMemory ControlMemory::Open(FilePlace place, MountConfig command_line) {
  ControlMemory memory(std::move(place), std::move(command_line));
  absl::StatusOr<std::string> text = ReadWholeFile(memory.place_, kMostBytes);
  if (absl::IsNotFound(text.status())) return memory;
  absl::Status taken = text.status();
  if (text.ok()) {
    memory.kept_ = *std::move(text);
    taken = memory.Take(memory.kept_);
  }
  if (!taken.ok()) {
    Log(LogLevel::kInfo,
        absl::StrCat("what was set through the control file is dropped: ",
                     taken.message()));
    memory.Remove();
    return memory;
  }
  const std::vector<std::string> keys =
      Differences(memory.command_line_, memory.config_);
  if (!keys.empty()) {
    Log(LogLevel::kInfo,
        absl::StrCat("continuing with what was set through the control file: ",
                     absl::StrJoin(keys, ", ")));
  }
  return memory;
}

absl::Status ControlMemory::Take(absl::string_view text) {
  absl::StatusOr<TomlDocument> document = ParseToml(text);
  if (!document.ok()) return Annotate(document.status(), place_.path());
  if (document->settings.size() != 1 || document->settings[0].key != kHashKey ||
      document->settings[0].value != HashOf(command_line_)) {
    return absl::FailedPreconditionError("the command line is another one");
  }
  MountConfig config = command_line_;
  std::vector<absl::optional<ViewConfig>> running(config.views.size());
  if (document->views.size() != 2 * config.views.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        place_.path(), ": has ", document->views.size(), " views"));
  }
  for (size_t i = 0; i < config.views.size(); ++i) {
    ViewConfig before = config.views[i];
    RETURN_IF_ERROR(
        Annotate(Apply(document->views[2 * i], before), place_.path()));
    RETURN_IF_ERROR(Annotate(Apply(document->views[2 * i + 1], config.views[i]),
                             place_.path()));
    if (RunTimeKeys(before) != RunTimeKeys(config.views[i])) {
      running[i] = std::move(before);
    }
  }
  config_ = std::move(config);
  running_ = std::move(running);
  return absl::OkStatus();
}

void ControlMemory::Keep(const std::vector<ViewKeys>& views) {
  std::vector<ViewKeys> asked;
  for (const ViewConfig& view : command_line_.views) {
    asked.push_back(ViewKeys{view, view});
  }
  std::string text = Render(command_line_, views);
  if (text == Render(command_line_, asked)) return Forget();
  if (text == kept_) return;
  const absl::Status done = ReplaceFile(place_, {text});
  if (done.ok()) {
    kept_ = std::move(text);
    return;
  }
  Log(LogLevel::kWarning,
      absl::StrCat("control file: ", done.message(),
                   "; what was set now would not outlive a crash"));
}

// Also if Keep has failed, because the file may be there all the same.
void ControlMemory::Forget() {
  if (!place_.empty()) Remove();
}

void ControlMemory::Remove() {
  kept_.clear();
  if (const absl::Status done = place_.Remove(); !done.ok()) {
    Log(LogLevel::kWarning, done.message());
  }
}

}  // namespace shufflefs
