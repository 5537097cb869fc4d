// SPDX-License-Identifier: Apache-2.0
// Detects whether the names of a directory count something: frames of a film,
// slices of a scan. Then their order has a meaning, and they must not move.
#ifndef SHUFFLEFS_CORE_DATASET_NAME_SEQUENCE_H_
#define SHUFFLEFS_CORE_DATASET_NAME_SEQUENCE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace shufflefs {

// The lengths of the common beginning and ending of all `names`. Neither cuts a
// number in two: img_0010 and img_0011 share "img_". A single name shares
// nothing.
struct CommonParts {
  size_t prefix = 0;
  size_t suffix = 0;
};
CommonParts FindCommonParts(const std::vector<absl::string_view>& names);

// Returns whether the names differ only in one number and these numbers are
// consecutive, with at most one in twenty missing. Fewer than `least` names are
// no sequence.
bool IsOneSequence(const std::vector<absl::string_view>& names, size_t least);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_NAME_SEQUENCE_H_
