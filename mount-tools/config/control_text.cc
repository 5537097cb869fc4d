// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/control_text.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"

namespace shufflefs {
namespace {

absl::Status SetEpoch(const TomlSetting& setting, ControlRequest& request) {
  if (setting.is_text && setting.value == "next") {
    request.next_epoch = true;
    return absl::OkStatus();
  }
  const absl::optional<uint64_t> number = ParseNumber(setting.value);
  if (!number || *number > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch = ", setting.value,
                     ": must be \"next\" or a whole number from 0 to "
                     "9223372036854775807"));
  }
  request.set_epoch = Epoch(*number);
  return absl::OkStatus();
}

absl::Status SetFeedback(const TomlSetting& setting, ControlRequest& request) {
  double loss = 0;
  if (setting.is_text || !absl::SimpleAtod(setting.value, &loss) ||
      !std::isfinite(loss)) {
    return absl::InvalidArgumentError(
        absl::StrCat("feedback = ", setting.value,
                     ": must be a finite number, such as 0.531"));
  }
  request.feedback = loss;
  return absl::OkStatus();
}

// Applies one line to `request`. `mount` has the mount's keys.
absl::Status ApplySetting(const TomlSetting& setting, const MountConfig* mount,
                          ControlRequest& request,
                          ControlledMount& controlled) {
  if (setting.key == "epoch") return SetEpoch(setting, request);
  if (setting.key == "feedback") return SetFeedback(setting, request);
  const Option* option = FindOption(setting.key);
  if (option == nullptr) return NoSuchKey(setting.key);

  MountConfig mount_now = mount == nullptr ? MountConfig() : *mount;
  const std::string before = option->Get(mount_now, request.config);
  ViewConfig edited = request.config;
  mount_now.notes.clear();
  RETURN_IF_ERROR(SetOption(setting.key, setting.value, mount_now, edited));
  request.notes.insert(request.notes.end(), mount_now.notes.begin(),
                       mount_now.notes.end());
  if (option->scope == OptionScope::kMount && option->run_time) {
    controlled.log_level = mount_now.log_level;  // the only such key
    return absl::OkStatus();
  }
  if (option->scope == OptionScope::kView && option->run_time) {
    absl::StrAppend(&request.settings,
                    TomlLine(*option, option->Get(mount_now, edited)));
  }
  const bool known = option->scope == OptionScope::kView || mount != nullptr;
  if (known && option->Get(mount_now, edited) == before) {
    return absl::OkStatus();
  }
  if (!option->run_time) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting.key,
                     ": cannot change while mounted; unmount, then mount with"
                     " -o ",
                     setting.key, "=", setting.value));
  }
  request.config = edited;
  request.config_changed = true;
  return absl::OkStatus();
}

// The one setting of a line.
absl::StatusOr<TomlSetting> ParseLine(absl::string_view line) {
  absl::StatusOr<TomlDocument> document = ParseToml(line);
  if (!document.ok()) {
    absl::string_view what = document.status().message();
    absl::ConsumePrefix(&what, "1:");  // the caller counts the lines
    return absl::InvalidArgumentError(absl::StrCat(
        "column ", what, " (words stand in quotes: policy = \"native\")"));
  }
  if (document->settings.size() != 1 || !document->views.empty()) {
    return absl::InvalidArgumentError(
        "must be one key = value, with dots in the key instead of a table");
  }
  return document->settings.front();
}

}  // namespace

absl::StatusOr<ControlRequest> ParseControl(absl::string_view text,
                                            const ViewConfig& current,
                                            const MountConfig* mount,
                                            ControlledMount* controlled) {
  ControlRequest request;
  ControlledMount of_mount;
  request.config = current;
  absl::flat_hash_set<std::string> seen;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = absl::StrCat("line ", number);
    absl::StatusOr<TomlSetting> setting = ParseLine(line);
    if (!setting.ok()) return Annotate(setting.status(), where);
    if (!seen.insert(setting->key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": ", setting->key, ": is given twice"));
    }
    RETURN_IF_ERROR(
        Annotate(ApplySetting(*setting, mount, request, of_mount), where));
  }
  if (seen.empty()) {
    return absl::InvalidArgumentError(
        "nothing to do: write key = value, such as epoch = \"next\"");
  }
  RETURN_IF_ERROR(ValidateView(request.config));
  if (controlled != nullptr) *controlled = of_mount;
  return request;
}

}  // namespace shufflefs
