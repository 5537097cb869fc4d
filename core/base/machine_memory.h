// SPDX-License-Identifier: Apache-2.0
// How much memory this process may fill with cached files: what the machine has
// to spare, or less if a control group (a container, a batch job) limits it.
#ifndef SHUFFLEFS_CORE_BASE_MACHINE_MEMORY_H_
#define SHUFFLEFS_CORE_BASE_MACHINE_MEMORY_H_

#include <cstdint>
#include <string>

namespace shufflefs {

struct MachineMemory {
  uint64_t bytes = 0;  // 0: not known
  // The file below /proc or /sys that set the limit, for messages; "" if none.
  std::string decided_by;
};

// The minimum of MemAvailable and the memory limits of the process's control
// group and its parents (version 2: memory.max and memory.high; version 1:
// memory.limit_in_bytes). Reads a few small files below `root`, which is ""
// except in tests. A file that is missing or malformed sets no limit. Any
// thread may call.
MachineMemory FindMachineMemory(const std::string& root = "");

inline uint64_t MachineMemoryBytes() { return FindMachineMemory().bytes; }

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_MACHINE_MEMORY_H_
