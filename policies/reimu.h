// SPDX-License-Identifier: Apache-2.0
// reimu: shuffles records of container files block by block, after REIMU.
// Blocks of adjacent records come in a random order, and the rows of a window
// of blocks are shuffled in memory. Names, and files that are no containers,
// stay as they are.
//
// Guarantees: a container's blocks (the records that begin in the same
//   reimu.block bytes of it) come in a new random order each epoch. The records
//   of reimu.window consecutive blocks of that order are fully shuffled among
//   each other. Records of different windows never mix.
// Read pattern: whole blocks, those of a window in the order of the file.
// Memory: reimu.block * reimu.window bytes per reader, and twice that while the
//   next window is fetched.
#ifndef SHUFFLEFS_POLICIES_REIMU_H_
#define SHUFFLEFS_POLICIES_REIMU_H_

#include "policies/native.h"

namespace shufflefs {

extern const PolicyEntry kReimuEntry;

// The blocks that reimu.block and reimu.window define.
RecordBlocks ReimuBlocks(const PolicyOptions& options);

class ReimuPolicy : public NativePolicy {
 public:
  explicit ReimuPolicy(const RecordBlocks& blocks) : blocks_(blocks) {}

  absl::string_view name() const override { return "reimu"; }
  bool shuffles_records() const override { return true; }
  RecordBlocks record_blocks() const override { return blocks_; }

 private:
  const RecordBlocks blocks_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_REIMU_H_
