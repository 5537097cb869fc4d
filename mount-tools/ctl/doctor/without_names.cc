// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/without_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/ctl/status_fields.h"

namespace shufflefs {
namespace {

using status_fields::Json;

// Their values are words of shufflefs, or what it measured of a device.
constexpr absl::string_view kSafeTexts[] = {
    "version",     "policy", "next_policy",   "substitute", "layout",
    "epoch_state", "state",  "epoch_verdict", "device"};

bool IsSafe(const std::string& key) {
  return std::find(std::begin(kSafeTexts), std::end(kSafeTexts), key) !=
         std::end(kSafeTexts);
}

// What is left of a text: nothing of a message but a grade, "A: …".
std::string LeftOf(const std::string& key, const std::string& text) {
  if (text.empty()) return "";
  const bool grade = key == "mixing" && text.size() > 2 && text[0] >= 'A' &&
                     text[0] <= 'F' && text[1] == ':';
  return grade ? absl::StrCat(text.substr(0, 2), " ", kLeftOut) : kLeftOut;
}

void LeaveOutTexts(Json& json, const std::string& key) {
  if (json.is_object()) {
    for (auto& [name, value] : json.items()) LeaveOutTexts(value, name);
  } else if (json.is_array()) {
    for (Json& value : json) LeaveOutTexts(value, "");
  } else if (json.is_string() && !IsSafe(key)) {
    json = LeftOf(key, json.get<std::string>());
  }
}

// Values of these kinds come from the program: the others are texts of the
// user.
bool IsSafe(ValueKind kind) {
  return kind != ValueKind::kText && kind != ValueKind::kPath;
}

}  // namespace

std::string StatusWithoutNames(absl::string_view json) {
  Json status = Json::parse(json.begin(), json.end(), nullptr,
                            /*allow_exceptions=*/false);
  if (status.is_discarded()) return "";
  LeaveOutTexts(status, "");
  return status.dump(2) + "\n";
}

std::string SettingsText(absl::string_view control, bool names) {
  const absl::StatusOr<MountConfig> config = ParseEffective(control, "control");
  if (!config.ok() || config->views.empty()) return "";
  std::string text;
  for (const Option& option : Options()) {
    const std::string value = option.Get(*config, config->views.front());
    if (value.empty() || value == option.default_text) continue;
    absl::StrAppend(&text, option.key, " = ",
                    names || IsSafe(option.kind) ? value : kLeftOut, "\n");
  }
  return text;
}

}  // namespace shufflefs
