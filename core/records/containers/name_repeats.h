// SPDX-License-Identifier: Apache-2.0
// Finds which files have a name in common.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_NAME_REPEATS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_NAME_REPEATS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace shufflefs {

// Returns for each list one before it that has one of its names, or nothing. A
// name that stays in both files is none of these. Each list is in increasing
// order and has each name once (NameHashes). Merges the lists, so it needs no
// memory per name.
std::vector<absl::optional<size_t>> FindNameRepeats(
    const std::vector<absl::Span<const uint64_t>>& lists);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_NAME_REPEATS_H_
