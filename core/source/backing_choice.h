// SPDX-License-Identifier: Apache-2.0
// Decides whether the kernel reads large files from the source by itself. The
// file of the source is then the "backing file" of the shown one, and its reads
// never reach the daemon.
#ifndef SHUFFLEFS_CORE_SOURCE_BACKING_CHOICE_H_
#define SHUFFLEFS_CORE_SOURCE_BACKING_CHOICE_H_

#include <cstdint>
#include <string>

namespace shufflefs {

// Files of at least this size get a backing file, in mounts whose files have
// this size on average. The kernel learns of a backing file by the answer to an
// open, and for a smaller file that answer takes longer than the reads that it
// saves: see docs/benchmarks.md.
inline constexpr uint64_t kLeastBackedBytes = uint64_t{4} << 20;

struct BackingFacts {
  uint64_t files = 0;  // regular files of the source
  uint64_t bytes = 0;  // of all of them
  uint64_t least = kLeastBackedBytes;
  // Why the kernel cannot, in one clause; "" if it can.
  std::string refused;
};

struct BackingChoice {
  bool on = false;
  std::string why;                     // one clause
  uint64_t least = kLeastBackedBytes;  // size of a large file
};
BackingChoice ChooseBacking(const BackingFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_BACKING_CHOICE_H_
