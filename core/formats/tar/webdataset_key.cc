// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/webdataset_key.h"

#include "absl/strings/match.h"

namespace shufflefs {
namespace {

constexpr size_t kNoPlace = absl::string_view::npos;

bool IsMetadata(absl::string_view name) {
  const absl::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && absl::StartsWith(first, "__") &&
         absl::EndsWith(first, "__");
}

}  // namespace

absl::optional<absl::string_view> WebDatasetKey(absl::string_view name) {
  if (IsMetadata(name)) return absl::nullopt;
  const size_t slash = name.rfind('/');
  const size_t base = slash == kNoPlace ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == kNoPlace) return absl::nullopt;
  if (dot == base) {  // a hidden file
    if (base == 0) return absl::nullopt;
    absl::string_view directory = name.substr(0, slash);
    const size_t above = directory.rfind('/');
    if (above != kNoPlace) directory.remove_prefix(above + 1);
    if (absl::StrContains(directory, '.')) return absl::nullopt;
  }
  return name.substr(0, dot);
}

}  // namespace shufflefs
