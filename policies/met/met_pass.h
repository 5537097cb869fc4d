// SPDX-License-Identifier: Apache-2.0
// Which samples make which mini-epoch of one pass of met: stratified, so that
// a group gives each mini-epoch floor or ceil of its samples over the number
// of mini-epochs; drawn anew for each pass (the paper's remedy for bias).
#ifndef SHUFFLEFS_POLICIES_MET_MET_PASS_H_
#define SHUFFLEFS_POLICIES_MET_MET_PASS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/dataset/grouping.h"
#include "core/random/random.h"

namespace shufflefs {

// 4 bytes a sample, 9 a group, 8 a mini-epoch. Not thread-safe.
class MetPass {
 public:
  struct Input {
    const Grouping* grouping = nullptr;
    uint32_t mini_epochs = 1;
    RandomKey key{0};
    // By sample: how often it is still to be shown. Those with 0 are in no
    // mini-epoch; those with more come earlier, so that the samples of one
    // mini-epoch have about as many.
    std::vector<uint32_t> left;
    // By sample: it is in the tier, so it comes before all others. Empty: none.
    std::vector<bool> staged;
    // By group: this pass begins another met.epochs of it.
    std::vector<bool> raises;
  };
  explicit MetPass(Input input);

  // The samples of a group in a mini-epoch; their order is the owner's.
  absl::Span<uint32_t> share(uint32_t group, uint32_t mini);
  absl::Span<const uint32_t> share(uint32_t group, uint32_t mini) const;
  uint64_t size(uint32_t mini) const { return sizes_[mini]; }
  uint32_t mini_epochs() const { return mini_epochs_; }
  bool raises(uint32_t group) const { return raises_[group]; }
  // A key for what is drawn inside this pass.
  RandomKey key() const { return key_; }

 private:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  Range RangeOf(uint32_t group, uint32_t mini) const;

  uint32_t mini_epochs_;
  RandomKey key_;
  std::vector<uint32_t> samples_;
  std::vector<uint64_t> begin_;     // by group, and one behind the last
  std::vector<uint32_t> rotation_;  // by group: who gets the odd samples
  std::vector<uint64_t> sizes_;     // by mini-epoch
  std::vector<bool> raises_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_PASS_H_
