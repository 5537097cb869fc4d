// SPDX-License-Identifier: Apache-2.0
// Why a node asks another one about names (SharedNames::Question).
#ifndef SHUFFLEFS_CORE_BINDING_NODES_NAME_PURPOSE_H_
#define SHUFFLEFS_CORE_BINDING_NODES_NAME_PURPOSE_H_

#include <cstdint>

namespace shufflefs {

// The values are those of the message.
enum class NamePurpose : uint8_t {
  kBind = 0,    // Readers wait. The node that is asked owns the names.
  kAhead = 1,   // Nobody waits yet. Only what is in memory is bound.
  kPassed = 2,  // As kBind. Their owner says that it passed them to this node.
  kLend = 3,    // The asker has no free sample for its names, and wants some.
};
inline constexpr uint32_t kNamePurposes = 4;

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_NAME_PURPOSE_H_
