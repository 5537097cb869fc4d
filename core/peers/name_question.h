// SPDX-License-Identifier: Apache-2.0
// What a daemon asks the owner of names: which samples do they show? The owner
// binds the names that are not bound yet. Asked again, it answers the same.
// With the samples it sends their bytes, as far as it has them in memory. Plain
// values.
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
  // Bytes of files for which the asker has memory. The answer brings no more.
  uint64_t room = 0;
  // Nobody waits for the names yet. Those that are not bound are bound only if
  // a sample in memory is free for them; else the answer is kNotBoundYet.
  bool ahead = false;
  friend bool operator==(const NameQuestion&, const NameQuestion&) = default;
};

inline constexpr size_t kMostAskedNames = 1024;
inline constexpr uint64_t kNotBoundYet = ~uint64_t{0};  // instead of a sample

// What one answer brings at most. More would delay the answer.
inline constexpr uint64_t kMostCarried = uint64_t{4} << 20;  // bytes

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_NAME_QUESTION_H_
