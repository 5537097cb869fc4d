// SPDX-License-Identifier: Apache-2.0
// PassTracker detects when a pass over the containers of a view has ended. Then
// every byte of each was delivered once, and a container that nobody holds open
// is opened again.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_TRACKER_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_TRACKER_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
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

// Who opens a container. All 0: hidden.
struct PassReader {
  uint32_t thread = 0;
  uint32_t process = 0;
  // The process whose workers read: the parent if it runs the same program,
  // else the process itself.
  uint32_t loader = 0;
  uint64_t start = 0;  // of the process: clock ticks after boot
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
  // Returns whether a process has ended.
  using IsGone = absl::FunctionRef<bool(uint32_t)>;
  // `reader` opens the file. `files` is the number of files to read. A worker
  // that was slower than others of its loader is of this pass: it did not open
  // the file yet, and they did not end. Or it is older than the end of the
  // pass, and opened nothing yet.
  OpenIs Open(EntryId file, const PassReader& reader, uint64_t files,
              IsGone is_gone);
  // The kernel looks up the file. Returns true if an unclear open waits for
  // this and no descriptor is left. Then the next pass begins.
  bool BeginsByLookup(EntryId file, uint64_t files);
  void Close(EntryId file);
  // Bytes [begin, end) of a file of `size` bytes came, `now` clock ticks after
  // boot. Returns whether the file is complete by that.
  bool Delivered(EntryId file, uint64_t begin, uint64_t end, uint64_t size,
                 uint64_t now = 0);
  // An earlier run had opened the file, and delivered all of it.
  void Restore(EntryId file);

  // Returns whether anybody has it open.
  bool IsOpen(EntryId file) const {
    const auto found = state_.find(file);
    return found != state_.end() && found->second.open > 0;
  }
  // A job goes on that had read `whole` to the end. All else that was, it reads
  // once more. What was read in part, and is held open, stays so.
  void GoOnFrom(const absl::flat_hash_set<EntryId>& whole);
  // Returns whether a job reads it once more. What the kernel has of it must
  // not hide that.
  bool IsReadAgain(EntryId file) const;

  uint64_t complete() const { return complete_; }
  // The complete files.
  std::vector<EntryId> whole() const;
  // Ranges in memory.
  uint64_t ranges() const { return ranges_; }

 private:
  struct File {
    uint64_t open = 0;
    // Readers that got kUnclear.
    std::set<uint32_t> unclear;
    // Processes that opened it.
    absl::flat_hash_set<uint32_t> processes;
    // Loaders whose workers opened it.
    absl::flat_hash_set<uint32_t> loaders;
    bool was_opened = false;
    bool complete = false;
    bool again = false;  // was complete before a job went on
    SeenBytes seen;
  };
  // Of all files. More processes are not remembered.
  static constexpr size_t kMostPairs = size_t{1} << 16;

  bool IsSlowWorker(const File& file, const PassReader& reader,
                    IsGone is_gone) const;
  void Remember(File& file, const PassReader& reader, IsGone is_gone);
  // Forgets processes that have ended.
  void Forget(IsGone is_gone);

  // If there is no file to read, there is no pass.
  bool IsComplete(uint64_t files) const {
    return files > 0 && complete_ >= files;
  }

  // For all files: about 64 MiB. A pass in separate pieces has more ranges only
  // if containers have 8 GiB and are read in pages. Then its end is not found.
  static constexpr uint64_t kMostRanges = uint64_t{1} << 20;

  uint64_t complete_ = 0;
  // When the last file was complete, in clock ticks after boot.
  uint64_t completed_ = 0;
  uint64_t ranges_ = 0;
  absl::flat_hash_map<EntryId, File> state_;
  // Of processes that opened a file.
  absl::flat_hash_map<uint32_t, uint32_t> loaders_;
  // Pairs of a file and a process that opened it.
  size_t pairs_ = 0;
  // Opens when there was no room for another pair.
  size_t refused_ = 0;
  // Several workers of a loader opened the same file.
  bool is_shared_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_PASS_TRACKER_H_
