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

}  // namespace shufflefs::status_fields

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_FIELDS_H_
