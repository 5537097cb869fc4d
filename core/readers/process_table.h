// SPDX-License-Identifier: Apache-2.0
// Reads from /proc what it says about one process. Thread-safe; each call opens
// a file.
#ifndef SHUFFLEFS_CORE_READERS_PROCESS_TABLE_H_
#define SHUFFLEFS_CORE_READERS_PROCESS_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

struct ProcessStat {
  uint32_t parent = 0;
  uint32_t group = 0;
  uint64_t start = 0;  // clock ticks after boot
  bool zombie = false;
};

// Parses the text of /proc/<id>/stat. Empty if it is malformed.
absl::optional<ProcessStat> ParseProcessStat(absl::string_view text);

// The `Tgid:` of /proc/<id>/status. Empty if there is none.
absl::optional<uint32_t> ParseThreadGroup(absl::string_view text);

class ProcessTable {
 public:
  explicit ProcessTable(std::string proc) : proc_(std::move(proc)) {}

  // For a process or a thread. Empty if it does not exist.
  absl::optional<ProcessStat> Stat(uint32_t id) const;
  // The process of thread `id`. Returns `id` itself if that is unknown.
  uint32_t ProcessOf(uint32_t id) const;
  // Path of the executable. "" if it may not be read.
  std::string Executable(uint32_t id) const;
  // `name=value` entries with a NUL after each, as they were when the process
  // started, at most 256 KiB. "" if they may not be read. Waits for the lock of
  // the process's memory map.
  std::string Environment(uint32_t id) const;

 private:
  const std::string proc_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_READERS_PROCESS_TABLE_H_
