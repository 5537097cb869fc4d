// SPDX-License-Identifier: Apache-2.0
// Options of a FileReader.
#ifndef SHUFFLEFS_CORE_IO_READER_OPTIONS_H_
#define SHUFFLEFS_CORE_IO_READER_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace shufflefs {

// The bounds of reads in flight are those of one device: see ReadQueue.
struct FileReaderOptions {
  size_t depth = 32;  // reads in flight, >= 1; with threads: their number
  // Bytes in flight. A larger single read runs alone.
  uint64_t max_in_flight_bytes = uint64_t{64} << 20;
  size_t threads = 8;  // used if io_uring is refused, >= 1; on FUSE, depth
  // Bypass the page cache with O_DIRECT. If false, or if a file system refuses
  // O_DIRECT: read through the page cache and drop what the read brought in.
  // Before Linux 6.14 that also drops what others had read of these bytes.
  bool direct = true;
  // For io_uring: the reads of one Submit begin when those of the previous one
  // have ended. For disks: with two places to read from at a time, the nearest
  // next file is often behind the head, and each costs a turn of the platter.
  // Pieces of files (FileRead::one_of_many) that are requested while earlier
  // pieces arrive do not wait for each other. Files on a server, or on another
  // device than the source, wait for nothing.
  bool batch_by_batch = false;
  // For pieces of files: files on a server stay open between reads, too.
  // Otherwise each is opened anew, which asks the server whether the file
  // changed.
  bool keeps_remote = false;
  bool io_uring = true;  // false: as if it were refused
  // Memory that most reads go into, each into one contiguous run. If the
  // process may, it is pinned for the kernel as a whole, at once. It outlives
  // the reader. Empty: nothing is pinned.
  absl::Span<char> memory;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_READER_OPTIONS_H_
