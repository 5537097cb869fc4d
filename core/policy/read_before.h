// SPDX-License-Identifier: Apache-2.0
// What was read of a view while names were passed through, because there was no
// catalogue yet.
#ifndef SHUFFLEFS_CORE_POLICY_READ_BEFORE_H_
#define SHUFFLEFS_CORE_POLICY_READ_BEFORE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace shufflefs {

// If anything was read, a pass has begun, and it ends in the source's order.
enum class ReadBefore : uint8_t {
  kNothing,
  kSomething,
  kUnknown,  // something, and nobody knows what
};

// What readers had of the source by then.
struct FilesRead {
  ReadBefore what = ReadBefore::kNothing;
  std::vector<std::string> paths;  // opened or read; relative to the source
  bool complete = true;            // false: `paths` lacks some
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_READ_BEFORE_H_
