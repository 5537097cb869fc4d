// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/extension_sets.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

namespace shufflefs {

uint32_t ExtensionSets::Extension(absl::string_view extension) {
  if (extension == last_raw_ && !extensions_.empty()) return last_;
  auto [at, fresh] = extension_numbers_.emplace(
      absl::AsciiStrToLower(extension), extensions_.size());
  if (fresh) {
    extensions_.push_back(at->first);
    single_.push_back(kNoSet);
  }
  last_raw_ = std::string(extension);
  return last_ = at->second;
}

uint32_t ExtensionSets::SetOf(const std::string& text) {
  auto [at, fresh] = set_numbers_.emplace(text, sets_.size());
  if (fresh) sets_.push_back(text);
  return at->second;
}

uint32_t ExtensionSets::Set(const std::vector<uint32_t>& extensions) {
  if (extensions.size() == 1) {
    uint32_t& set = single_[extensions[0]];
    if (set == kNoSet) set = SetOf(extensions_[extensions[0]]);
    return set;
  }
  return SetOf(absl::StrJoin(extensions, ",",
                             [this](std::string* out, uint32_t extension) {
                               out->append(extensions_[extension]);
                             }));
}

}  // namespace shufflefs
