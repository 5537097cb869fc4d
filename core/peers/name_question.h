// SPDX-License-Identifier: Apache-2.0
// What a daemon asks the owner of names: which samples do they show? The owner
// binds the names that are not bound yet. Asked again, it answers the same.
// Plain values.
#ifndef SHUFFLEFS_CORE_PEERS_NAME_QUESTION_H_
#define SHUFFLEFS_CORE_PEERS_NAME_QUESTION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shufflefs {

struct NameQuestion {
  std::string view;             // path of the view
  uint64_t binding = 0;         // hash of what names show on the asker
  std::vector<uint64_t> names;  // 1 to kMostAskedNames
  friend bool operator==(const NameQuestion&, const NameQuestion&) = default;
};

inline constexpr size_t kMostAskedNames = 1024;

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_NAME_QUESTION_H_
