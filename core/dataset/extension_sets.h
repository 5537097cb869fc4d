// SPDX-License-Identifier: Apache-2.0
// Numbers file name extensions and sets of them while a grouping is made.
// Internal to core/dataset. One thread.
#ifndef SHUFFLEFS_CORE_DATASET_EXTENSION_SETS_H_
#define SHUFFLEFS_CORE_DATASET_EXTENSION_SETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// Numbered sets of extensions. The text of a set ("jpg,json") orders groups and
// is part of their keys.
class ExtensionSets {
 public:
  // The number of an extension. Upper and lower case count as equal.
  uint32_t Extension(absl::string_view extension);
  const std::string& extension_text(uint32_t extension) const {
    return extensions_[extension];
  }
  // The number of a set. Its extensions are sorted by their text.
  uint32_t Set(const std::vector<uint32_t>& extensions);
  const std::string& set_text(uint32_t set) const { return sets_[set]; }

 private:
  static constexpr uint32_t kNoSet = 0xFFFFFFFF;
  uint32_t SetOf(const std::string& text);

  std::vector<std::string> extensions_;
  absl::flat_hash_map<std::string, uint32_t> extension_numbers_;
  // Most names have the same extension as the one before.
  std::string last_raw_;
  uint32_t last_ = 0;
  std::vector<std::string> sets_;
  absl::flat_hash_map<std::string, uint32_t> set_numbers_;
  // By extension: the set of it alone, or kNoSet.
  std::vector<uint32_t> single_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_EXTENSION_SETS_H_
