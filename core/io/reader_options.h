// SPDX-License-Identifier: Apache-2.0
// How a FileReader reads.
#ifndef SHUFFLEFS_CORE_IO_READER_OPTIONS_H_
#define SHUFFLEFS_CORE_IO_READER_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace shufflefs {

struct FileReaderOptions {
  size_t depth = 32;  // reads in flight, >= 1; of threads: their number
  // Bytes in flight; a single read may be larger, alone.
  uint64_t max_in_flight_bytes = uint64_t{64} << 20;
  size_t threads = 8;  // where io_uring is refused, >= 1
  // Past the page cache by O_DIRECT. Where a file system refuses that, and
  // always if false: through it, dropping what the read brought in.
  bool direct = true;
  // Of io_uring: the reads of one Submit begin when those of the one before
  // have ended. For disks: with two places to read from at a time, the nearest
  // next is often a file behind the head, and each costs a turn of the platter.
  // Pieces of files (FileRead::one_of_many), asked for as those before them
  // come, do not wait for each other.
  bool batch_by_batch = false;
  // Of pieces of files: a server's stay open between them, too. Else each is
  // opened anew, which asks whether the file changed.
  bool keeps_remote = false;
  bool io_uring = true;  // false: as if it were refused
  // Most reads go into it, one run each: pinned for the kernel, as a whole and
  // at once, where that is allowed. Outlives the reader. Empty: none is.
  absl::Span<char> memory;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_READER_OPTIONS_H_
