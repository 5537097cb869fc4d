// SPDX-License-Identifier: Apache-2.0
// FileReader reads many pieces of many files at once. The pool is filled
// through it. One interface serves io_uring, a thread pool if io_uring is
// refused, and tests.
#ifndef SHUFFLEFS_CORE_IO_FILE_READER_H_
#define SHUFFLEFS_CORE_IO_FILE_READER_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

// Offsets, addresses and lengths of reads that bypass the page cache are
// multiples of this.
inline constexpr size_t kReadAlignment = 4096;
// The largest multiple of `unit` that is not above `value`.
inline uint64_t RoundDown(uint64_t value, uint64_t unit = kReadAlignment) {
  return value / unit * unit;
}

// One read: open the file, read, check that it is the expected file, close it.
struct FileRead {
  std::string path;  // relative to the reader's directory: see SourceDir
  // The file must still be this one: a regular file of the same identity that
  // lost no read permission. Empty: not checked.
  absl::optional<FileAttributes> expected;
  // Where it begins on a device that seeks: larger numbers lie further on. Such
  // a read and those after it with place 0 are read together, and batches of
  // this kind in the order of their places, whichever came first. 0: unknown.
  uint64_t place = 0;
  // Expect more pieces of the same file, in the order in which the device reads
  // them best. The file may stay open, unless it is on a server.
  bool one_of_many = false;
  uint64_t offset = 0;  // bytes, a multiple of kReadAlignment
  uint64_t length = 0;  // bytes wanted, > 0; all of them must exist
  // The destination. Bases and lengths are multiples of kReadAlignment,
  // together at least `length` rounded up to one. The memory lives until `done`
  // was called. Bytes behind `length` may be overwritten.
  std::vector<iovec> into;
  // Called exactly once, by a thread of the reader that holds no lock of the
  // reader. It may call Submit. It must not block. Errors name the path: ESTALE
  // if the file is gone or is another one; EACCES if it lost a read permission;
  // EIO if it ends early; those of open and read; Cancelled.
  std::function<void(absl::Status)> done;
};

struct FileReaderStats {
  uint64_t reads = 0;      // finished, with or without an error
  uint64_t bytes = 0;      // that came from the device or its cache
  uint64_t in_flight = 0;  // bytes requested from the kernel, not yet there
  uint64_t queued = 0;     // reads that did not begin yet
};

// Thread-safe.
class FileReader {
 public:
  // Cancels reads that did not begin, and waits for the others.
  virtual ~FileReader() = default;

  // Queues the reads in this order, but for FileRead::place. As many run at a
  // time as the reader's depth allows. Never waits for a device.
  virtual void Submit(std::vector<FileRead> reads) = 0;
  // The same, but before the queued reads, because a reader of the mount waits.
  virtual void SubmitUrgent(FileRead read) = 0;
  // Ends with Cancelled every read that did not begin, now and from now on.
  virtual void Cancel() = 0;

  virtual FileReaderStats stats() const = 0;
  // "io_uring" or "threads", for `status`.
  virtual std::string how() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_FILE_READER_H_
