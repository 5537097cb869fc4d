// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/table_files.h"

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {

std::string TableFiles::WhyOf(DirId dir) {
  const auto found = known_.find(dir);
  if (found != known_.end()) return found->second;
  std::string why = Sign(dir);
  if (why.empty() && dir != DirId(0)) why = WhyOf(catalogue_.parent(dir));
  known_[dir] = why;
  return why;
}

std::string TableFiles::Sign(DirId dir) const {
  for (const char* name :
       {"_delta_log", ".hoodie", "_metadata", "_common_metadata"}) {
    const absl::optional<EntryId> sign = catalogue_.Find(dir, name);
    if (sign) {
      return absl::StrCat("it belongs to a table, ", catalogue_.path(*sign));
    }
  }
  const absl::optional<EntryId> metadata = catalogue_.Find(dir, "metadata");
  if (metadata && catalogue_.kind(*metadata) == EntryKind::kDirectory &&
      IsIceberg(catalogue_.as_dir(*metadata))) {
    return absl::StrCat("it belongs to an Iceberg table, ",
                        catalogue_.path(*metadata));
  }
  return "";
}

bool TableFiles::IsIceberg(DirId metadata) const {
  const uint32_t first = catalogue_.first_entry(metadata).value();
  const uint32_t end = first + catalogue_.dir_size(metadata);
  for (uint32_t e = first; e < end; ++e) {
    const absl::string_view name = catalogue_.name(EntryId(e));
    if (absl::EndsWith(name, ".metadata.json") ||
        absl::EndsWith(name, ".metadata.json.gz") ||
        name == "version-hint.text") {
      return true;
    }
  }
  return false;
}

}  // namespace shufflefs
