// SPDX-License-Identifier: Apache-2.0
// reimu: records of container files are shuffled block by block, after REIMU:
// blocks that lie together come in a random order, and the rows of a window of
// them are shuffled in memory. Names, and files that are no containers, stay
// as they are.
//
// Guarantees: a container's blocks (the records that begin in the same
//   reimu.block bytes of it) come in a new random order each epoch; the
//   records of reimu.window consecutive blocks of that order are a full
//   shuffle of these. Records of different windows never mix.
// Read pattern: whole blocks, those of a window in the order in which they lie.
// Memory: reimu.block * reimu.window bytes a reader, twice while the next
//   window is fetched.
#ifndef SHUFFLEFS_POLICIES_REIMU_H_
#define SHUFFLEFS_POLICIES_REIMU_H_

#include "policies/native.h"

namespace shufflefs {

extern const PolicyEntry kReimuEntry;

// What reimu.block and reimu.window say.
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
