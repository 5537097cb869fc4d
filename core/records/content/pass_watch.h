// SPDX-License-Identifier: Apache-2.0
// When a pass over the containers of a view has ended: every byte of all of
// them was delivered once, and one that nobody holds open is opened again.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_WATCH_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_WATCH_H_

#include <cstdint>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "core/base/types.h"

namespace shufflefs {

// Ranges of bytes that were seen, merged. A reader from start to end leaves
// one range, whatever the size. Not thread-safe.
class SeenBytes {
 public:
  // Returns by how many ranges it has more, or less. Where a new range would
  // be one more than `most` it is not noted, so that HasAll says no for ever.
  int64_t Add(uint64_t begin, uint64_t end, uint64_t most);
  uint64_t ranges() const { return ranges_.size(); }
  bool HasAll(uint64_t bytes) const {
    return bytes == 0 || (ranges_.size() == 1 && ranges_.begin()->first == 0 &&
                          ranges_.begin()->second >= bytes);
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin: end
};

// Of one epoch. Not thread-safe.
class PassWatch {
 public:
  enum class OpenIs {
    kOfThisPass,
    // It belongs to another epoch, and is not counted here.
    kTheNextPass,
    // All was read, but the file is held open, or was a moment ago: the kernel
    // tells of a descriptor that was closed later than close() returns. Let it
    // look the name up once more. Said once to each open; not counted.
    kUnclear,
  };
  // OPEN by thread `reader` (0 = hidden). `files`: how many have to be read.
  OpenIs Open(EntryId file, uint32_t reader, uint64_t files);
  // A LOOKUP of the file. True if an open that was unclear waits for it, and
  // no descriptor is left by now: the next pass begins.
  bool BeginsByLookup(EntryId file, uint64_t files);
  void Close(EntryId file);
  // `size`: of the file.
  void Delivered(EntryId file, uint64_t begin, uint64_t end, uint64_t size);

  uint64_t complete() const { return complete_; }
  uint64_t ranges() const { return ranges_; }  // what it remembers

 private:
  struct File {
    uint64_t open = 0;
    std::set<uint32_t> unclear;  // readers that were told so
    bool was_opened = false;
    bool complete = false;
    SeenBytes seen;
  };

  // Without a file to be read there is no pass.
  bool IsComplete(uint64_t files) const {
    return files > 0 && complete_ >= files;
  }

  // Of all files: some 64 MiB. A pass in pieces that are apart from each other
  // has more only in containers of 8 GiB, in pages; its end is then not found.
  static constexpr uint64_t kMostRanges = uint64_t{1} << 20;

  uint64_t complete_ = 0;
  uint64_t ranges_ = 0;
  absl::flat_hash_map<EntryId, File> state_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_WATCH_H_
