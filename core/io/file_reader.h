// SPDX-License-Identifier: Apache-2.0
// Reads many pieces of many files at once: what the pool is filled by. One
// interface for io_uring, for a pool of threads where io_uring is refused,
// and for tests.
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

// Offsets, addresses and lengths of the pieces that go past the page cache
// are multiples of it.
inline constexpr size_t kReadAlignment = 4096;

// One read: open, look whether it is the file that is expected, read, close.
struct FileRead {
  std::string path;  // relative to the reader's directory, as SourceDir says
  // The file must still be this one: a regular file of the same identity,
  // with no read permission lost. Nothing: not looked at.
  absl::optional<FileAttributes> expected;
  // More pieces of the same file are to be expected, in the order in which the
  // device reads them best. It may stay open, unless it is a server's.
  bool one_of_many = false;
  uint64_t offset = 0;  // bytes, a multiple of kReadAlignment
  uint64_t length = 0;  // bytes wanted, > 0; they must all be there
  // Where to: bases and lengths are multiples of kReadAlignment, together at
  // least `length` rounded up to one. Lives until `done` was called. Bytes
  // behind `length` may be overwritten.
  std::vector<iovec> into;
  // Called exactly once, by a thread of the reader, with no lock of the
  // reader held; it may call Submit. Must not block. Errors, which name the
  // path: ESTALE when the file is gone or is another one, EACCES when a read
  // permission was taken away, EIO when it ends early, what open and read
  // give; Cancelled.
  std::function<void(absl::Status)> done;
};

struct FileReaderStats {
  uint64_t reads = 0;      // finished, well or not
  uint64_t bytes = 0;      // that came from the device or its cache
  uint64_t in_flight = 0;  // bytes asked of the kernel and not there yet
  uint64_t queued = 0;     // reads not begun yet
};

// Thread-safe.
class FileReader {
 public:
  // Cancels what was not begun, waits for what was.
  virtual ~FileReader() = default;

  // Begins the reads in this order behind those that wait, as many at a time
  // as the reader's depth allows. Never waits for a device.
  virtual void Submit(std::vector<FileRead> reads) = 0;
  // The same, before those that wait: a reader of the mount waits for it.
  virtual void SubmitUrgent(FileRead read) = 0;
  // Ends every read that was not begun with Cancelled, now and from now on.
  virtual void Cancel() = 0;

  virtual FileReaderStats stats() const = 0;
  // "io_uring" or "threads", for `status`.
  virtual std::string how() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_FILE_READER_H_
