// SPDX-License-Identifier: Apache-2.0
// SampleSource reads whole files into memory from where their bytes are kept:
// the source tree, or packed chunk files.
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

// A whole file to read into memory, or the piece that a reader waits for.
struct FilePiece {
  EntryId file;
  uint64_t offset = 0;  // bytes, a multiple of kReadAlignment (file_reader.h)
  uint64_t length = 0;  // bytes; offset + length is within the file, > 0
  // As FileRead::place.
  uint64_t place = 0;
  // As FileRead::into.
  std::vector<iovec> into;
  // As FileRead::done; an error names the file's path.
  std::function<void(absl::Status)> done;
};

// Thread-safe. No call waits for a device. It may be destroyed while reads are
// under way, also on a thread of the FileReader behind it. That reader outlives
// it and calls their `done`.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Reads whole files, best in this order: the files of a block are adjacent.
  virtual void Fetch(std::vector<FilePiece> files) = 0;
  // Reads one piece that a reader waits for, before all waiting reads.
  virtual void FetchNow(FilePiece piece) = 0;

  virtual uint64_t bytes_read() const = 0;  // from the device
  virtual uint64_t reads() const = 0;
  // What it reads, and how, in a few words for `status`.
  virtual std::string how() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_SAMPLE_SOURCE_H_
