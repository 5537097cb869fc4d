// SPDX-License-Identifier: Apache-2.0
// The id of a family of reading processes: a job with all its workers and
// ranks. ReaderFamilies assigns ids, and the epoch detector compares them.
#ifndef SHUFFLEFS_CORE_READERS_FAMILY_ID_H_
#define SHUFFLEFS_CORE_READERS_FAMILY_ID_H_

#include <cstdint>

#include "core/base/types.h"

namespace shufflefs {

using FamilyId = StrongInt<struct FamilyTag, uint64_t>;

// The family of every reader whose process cannot be seen (pid 0: another pid
// namespace).
inline constexpr FamilyId kHiddenFamily{0};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_READERS_FAMILY_ID_H_
