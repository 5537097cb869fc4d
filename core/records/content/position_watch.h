// SPDX-License-Identifier: Apache-2.0
// PositionWatch finds out that a container is read by positions: a program
// knows where its records are, opens the file for each of them, and seeks. Such
// positions are those of one epoch, so no pass may begin the next one.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_POSITION_WATCH_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_POSITION_WATCH_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/types.h"

namespace shufflefs {

// Watches one epoch. Not thread-safe. It knows opens, and the reads that the
// kernel asks for: it has read ahead, and keeps what it has. So a reader of
// positions may look like one that reads from the start, for as long as a file
// is in memory. In doubt this says no.
class PositionWatch {
 public:
  // Process `process` (0 = hidden) opens the file.
  void Opened(EntryId file, uint32_t process);
  // The first read after an open begins far behind all that was read: returns
  // true.
  bool Wanted(EntryId file, uint64_t begin, uint64_t end);
  // Returns whether it was near enough all the same, if `end` was the end of
  // the file. The last step is cut there, so its length says nothing of the
  // steps before it.
  bool MayBeLastStep(EntryId file, uint64_t begin) const;
  // A container was read to its end: it is no longer watched.
  void Complete(EntryId file) { state_.erase(file); }

  // Returns whether the file is opened again and again by one process, each
  // time for a piece. `kNewPass`: the pass began because it opened a file, and
  // nothing is complete. If it keeps positions, they are those of the pass
  // before.
  enum class Pass { kAny, kNew };
  bool OpensPieces(EntryId file, uint32_t process, Pass pass) const;

 private:
  struct File {
    uint64_t end = 0;      // of what was wanted from the start on
    bool fresh = true;     // nothing was wanted since an open
    uint32_t process = 0;  // the last one that opened it
    uint64_t opens = 0;    // by it, in a row
    uint64_t grown = 0;    // of these, those that brought more
  };
  // The kernel reads ahead in steps that double. The daemon's threads may take
  // a step before an earlier one, so a gap of a few steps says nothing.
  static constexpr uint64_t kGap = 4;
  static constexpr uint64_t kMostStep = uint64_t{1} << 20;  // of any kernel
  static constexpr uint64_t kLeastGap = uint64_t{256} << 10;
  // A program may look at a file's head before it reads it, or break off.
  static constexpr uint64_t kMostPieces = 4;
  static constexpr uint64_t kMostPiecesOfNewPass = 2;

  absl::flat_hash_map<EntryId, File> state_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_POSITION_WATCH_H_
