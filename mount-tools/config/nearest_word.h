// SPDX-License-Identifier: Apache-2.0
// "Did you mean …?": the known word that is nearest to what a user typed.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_NEAREST_WORD_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_NEAREST_WORD_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace shufflefs {

// The word of `known` that `typed` most likely means: up to a third of its
// letters changed or swapped, or the last part of a dotted key (`page` for
// lirs.page), or its beginning (`stat` for status). "" if none is near. Of
// equally near words, the first. O(typed * words).
absl::string_view NearestWord(absl::string_view typed,
                              absl::Span<const absl::string_view> known);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_NEAREST_WORD_H_
