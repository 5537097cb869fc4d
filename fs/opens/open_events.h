// SPDX-License-Identifier: Apache-2.0
// Takes apart what the kernel's fanotify reports about opened files.
#ifndef SHUFFLEFS_FS_OPENS_OPEN_EVENTS_H_
#define SHUFFLEFS_FS_OPENS_OPEN_EVENTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace shufflefs {

struct OpenEvents {
  struct Open {
    uint64_t nodeid = 0;
    uint32_t reader = 0;  // thread id, 0 = hidden
    friend bool operator==(const Open&, const Open&) = default;
  };
  std::vector<Open> opens;  // in their order
  bool lost = false;        // the kernel's queue overflowed
};

// Appends the events of one read from a group that reports file handles and
// thread ids. An event that cannot be understood counts as lost.
void AppendOpenEvents(absl::Span<const char> bytes, OpenEvents& events);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_OPENS_OPEN_EVENTS_H_
