// SPDX-License-Identifier: Apache-2.0
// Whether the names of a directory count something: frames of a film, slices
// of a scan. Then their order carries meaning and they must not move.
#ifndef SHUFFLEFS_CORE_DATASET_NAME_SEQUENCE_H_
#define SHUFFLEFS_CORE_DATASET_NAME_SEQUENCE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace shufflefs {

// What all `names` begin and end with, as lengths. Neither cuts a number in
// two: img_0010 and img_0011 share "img_". For one name, nothing is shared.
struct CommonParts {
  size_t prefix = 0;
  size_t suffix = 0;
};
CommonParts FindCommonParts(const std::vector<absl::string_view>& names);

// Whether the names differ in one number only and these numbers follow each
// other, with at most one in twenty missing. Fewer than `least` names are
// no sequence.
bool IsOneSequence(const std::vector<absl::string_view>& names, size_t least);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_NAME_SEQUENCE_H_
