// SPDX-License-Identifier: Apache-2.0
// Numbers for file name extensions and for sets of them, while a grouping is
// made. Internal to core/grouping. One thread.
#ifndef SHUFFLEFS_CORE_DATASET_EXTENSION_SETS_H_
#define SHUFFLEFS_CORE_DATASET_EXTENSION_SETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// Sets of extensions, numbered. The text of a set ("jpg,json") orders groups
// and enters their keys.
class ExtensionSets {
 public:
  // The number of an extension, letters' case folded.
  uint32_t Extension(absl::string_view extension);
  const std::string& extension_text(uint32_t extension) const {
    return extensions_[extension];
  }
  // The number of a set, given its extensions sorted by their text.
  uint32_t Set(const std::vector<uint32_t>& extensions);
  const std::string& set_text(uint32_t set) const { return sets_[set]; }

 private:
  static constexpr uint32_t kNoSet = 0xFFFFFFFF;
  uint32_t SetOf(const std::string& text);

  std::vector<std::string> extensions_;
  absl::flat_hash_map<std::string, uint32_t> extension_numbers_;
  std::string last_raw_;  // most names have the extension of the one before
  uint32_t last_ = 0;
  std::vector<std::string> sets_;
  absl::flat_hash_map<std::string, uint32_t> set_numbers_;
  std::vector<uint32_t> single_;  // by extension: its set alone, or kNoSet
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_EXTENSION_SETS_H_
