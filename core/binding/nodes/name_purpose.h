// SPDX-License-Identifier: Apache-2.0
// Why a node asks another one about names (SharedNames::Question).
#ifndef SHUFFLEFS_CORE_BINDING_NODES_NAME_PURPOSE_H_
#define SHUFFLEFS_CORE_BINDING_NODES_NAME_PURPOSE_H_

#include <cstdint>

namespace shufflefs {

// The values are those of the message.
enum class NamePurpose : uint8_t {
  kBind = 0,    // readers wait; the node that is asked owns the names
  kAhead = 1,   // nobody waits yet: only what is in memory is bound
  kPassed = 2,  // as kBind; their owner says that it passed them to this node
  kLend = 3,    // the asker has no free sample for its names, and wants some
};
inline constexpr uint32_t kNamePurposes = 4;

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_NAME_PURPOSE_H_
