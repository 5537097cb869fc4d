// SPDX-License-Identifier: Apache-2.0
// Reads fields of a mount's status. Values of a kind that this program does not
// know, as a later daemon may write, count as missing.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_FIELDS_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/config/value_text.h"

namespace shufflefs::status_fields {

using Json = nlohmann::ordered_json;

// The document of .shufflefs/status. DataLoss if `text` is none.
inline absl::StatusOr<Json> ParseStatus(absl::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("views") ||
      !json["views"].is_array()) {
    return absl::DataLossError("the mount's status is not what it should be");
  }
  return json;
}

// All its texts as ShownPath. A mount of anybody may have written them.
inline void MakeShown(Json& json) {
  if (json.is_string()) json = ShownPath(json.get<std::string>());
  if (!json.is_structured()) return;
  for (Json& each : json) MakeShown(each);
}

// ParseStatus for what is printed as text.
inline absl::StatusOr<Json> ShownStatus(absl::string_view text) {
  absl::StatusOr<Json> status = ParseStatus(text);
  if (status.ok()) MakeShown(*status);
  return status;
}

inline absl::optional<double> Number(const Json& view, const char* key) {
  const auto it = view.find(key);
  if (it == view.end() || !it->is_number()) return absl::nullopt;
  return it->get<double>();
}

inline absl::optional<uint64_t> Count(const Json& view, const char* key) {
  const auto it = view.find(key);
  if (it == view.end() || !it->is_number_unsigned()) return absl::nullopt;
  return it->get<uint64_t>();
}

inline std::string TextOf(const Json& view, const char* key) {
  const auto it = view.find(key);
  return it != view.end() && it->is_string() ? it->get<std::string>() : "";
}

inline std::vector<std::string> Texts(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return texts;
  for (const Json& item : *it) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

// What the policy of a view says of its prefetching, under its own name. Null
// if it does not prefetch.
inline const Json* PrefetchOf(const Json& view) {
  const auto it = view.find(TextOf(view, "policy"));
  return it != view.end() && it->is_object() ? &*it : nullptr;
}

}  // namespace shufflefs::status_fields

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_FIELDS_H_
