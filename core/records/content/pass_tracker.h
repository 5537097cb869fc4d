// SPDX-License-Identifier: Apache-2.0
// PassTracker detects when a pass over the containers of a view has ended. Then
// every byte of each was delivered once, and a container that nobody holds open
// is opened again.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_TRACKER_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_TRACKER_H_

#include <cstdint>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "core/base/types.h"

namespace shufflefs {

// The byte ranges that were seen, merged. A reader from start to end leaves one
// range for any size. Not thread-safe.
class SeenBytes {
 public:
  // Returns how many more ranges there are now; negative if fewer. If a new
  // range would exceed `most`, it is not recorded. Then HasAll returns false
  // for ever.
  int64_t Add(uint64_t begin, uint64_t end, uint64_t most);
  uint64_t ranges() const { return ranges_.size(); }
  const std::map<uint64_t, uint64_t>& all() const { return ranges_; }
  bool HasAll(uint64_t bytes) const {
    return bytes == 0 || (ranges_.size() == 1 && ranges_.begin()->first == 0 &&
                          ranges_.begin()->second >= bytes);
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin: end
};

// Watches one epoch. Not thread-safe.
class PassTracker {
 public:
  enum class OpenIs {
    kOfThisPass,
    // The open belongs to another epoch. It is not counted here.
    kTheNextPass,
    // All was read, but the file is held open, or was a moment ago. The kernel
    // reports a closed descriptor only after close() returned. Let the kernel
    // look up the name once more. Returned once per open, and not counted.
    kUnclear,
  };
  // Thread `reader` opens the file (0 = hidden). `files` is the number of files
  // to read.
  OpenIs Open(EntryId file, uint32_t reader, uint64_t files);
  // The kernel looks up the file. Returns true if an unclear open waits for
  // this and no descriptor is left. Then the next pass begins.
  bool BeginsByLookup(EntryId file, uint64_t files);
  void Close(EntryId file);
  // `size`: of the file. Returns whether the file is complete by that.
  bool Delivered(EntryId file, uint64_t begin, uint64_t end, uint64_t size);
  // An earlier run had opened the file, and delivered all of it.
  void Restore(EntryId file);

  uint64_t complete() const { return complete_; }
  uint64_t ranges() const { return ranges_; }  // ranges in memory

 private:
  struct File {
    uint64_t open = 0;
    std::set<uint32_t> unclear;  // readers that got kUnclear
    bool was_opened = false;
    bool complete = false;
    SeenBytes seen;
  };

  // If there is no file to read, there is no pass.
  bool IsComplete(uint64_t files) const {
    return files > 0 && complete_ >= files;
  }

  // For all files: about 64 MiB. A pass in separate pieces has more ranges only
  // if containers have 8 GiB and are read in pages. Then its end is not found.
  static constexpr uint64_t kMostRanges = uint64_t{1} << 20;

  uint64_t complete_ = 0;
  uint64_t ranges_ = 0;
  absl::flat_hash_map<EntryId, File> state_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_TRACKER_H_
