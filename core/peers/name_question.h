// SPDX-License-Identifier: Apache-2.0
// What a daemon asks the owner of names: which samples do they show? The owner
// binds the names that are not bound yet, or passes them to the asker. Asked
// again, it answers the same. An answer is a sample, or what SharedNames
// answers instead (core/binding/nodes/shared_names.h).
// With the samples it sends their bytes, as far as it has them in memory. Plain
// values.
#ifndef SHUFFLEFS_CORE_PEERS_NAME_QUESTION_H_
#define SHUFFLEFS_CORE_PEERS_NAME_QUESTION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/binding/nodes/name_purpose.h"

namespace shufflefs {

struct NameQuestion {
  std::string view;             // path of the view
  uint64_t binding = 0;         // hash of what names show on the asker
  std::vector<uint64_t> names;  // 1 to kMostAskedNames
  // Bytes of files for which the asker has memory. The answer brings no more.
  uint64_t room = 0;
  NamePurpose purpose = NamePurpose::kBind;
  // The first `wanted` names may be passed to `asker`, the name of a member.
  uint32_t wanted = 0;
  std::string asker;
  friend bool operator==(const NameQuestion&, const NameQuestion&) = default;
};

inline constexpr size_t kMostAskedNames = 1024;

// What one answer brings at most. More would delay the answer.
inline constexpr uint64_t kMostCarried = uint64_t{4} << 20;  // bytes

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_NAME_QUESTION_H_
