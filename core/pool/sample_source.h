// SPDX-License-Identifier: Apache-2.0
// Brings whole files into memory, from wherever their bytes are kept: from
// the source tree, or from packed chunk files.
#ifndef SHUFFLEFS_CORE_POOL_SAMPLE_SOURCE_H_
#define SHUFFLEFS_CORE_POOL_SAMPLE_SOURCE_H_

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/types.h"

namespace shufflefs {

// A whole file into memory, or the piece that a reader waits for.
struct FilePiece {
  EntryId file;
  uint64_t offset = 0;  // bytes, a multiple of kReadAlignment (file_reader.h)
  uint64_t length = 0;  // bytes; offset + length is within the file, > 0
  // As FileRead::into.
  std::vector<iovec> into;
  // As FileRead::done; an error names the file's path.
  std::function<void(absl::Status)> done;
};

// Thread-safe. No call waits for a device. It may go while reads are under way:
// the FileReader behind it, which outlives it, calls their `done`; and it may
// go on one of that reader's threads.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Whole files, best in this order: those of a block follow each other.
  virtual void Fetch(std::vector<FilePiece> files) = 0;
  // One piece that a reader waits for, before all that waits.
  virtual void FetchNow(FilePiece piece) = 0;

  virtual uint64_t bytes_read() const = 0;  // from the device
  virtual uint64_t reads() const = 0;
  // What it reads, and how: a few words for `status`.
  virtual std::string how() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_SAMPLE_SOURCE_H_
