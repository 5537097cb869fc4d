// SPDX-License-Identifier: Apache-2.0
// MetPass says which samples make which mini-epoch of one pass of met. It is
// stratified: a group gives each mini-epoch floor or ceil of its samples over
// the number of mini-epochs. It is drawn anew for each pass (the paper's remedy
// for bias).
#ifndef SHUFFLEFS_POLICIES_MET_MET_PASS_H_
#define SHUFFLEFS_POLICIES_MET_MET_PASS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/dataset/grouping.h"
#include "core/random/random.h"

namespace shufflefs {

// 4 bytes per sample, 9 per group, 8 per mini-epoch. Not thread-safe.
class MetPass {
 public:
  struct Input {
    const Grouping* grouping = nullptr;
    uint32_t mini_epochs = 1;
    RandomKey key{0};
    // By sample: how often it is still to be shown. Samples with 0 are in no
    // mini-epoch. Samples with more come earlier, so the samples of one
    // mini-epoch have about equally many.
    std::vector<uint32_t> left;
    // By sample: whether it is in the tier, and so comes first. Empty: none is.
    std::vector<bool> staged;
    // By group: whether this pass begins another met.epochs of the group.
    std::vector<bool> raises;
  };
  explicit MetPass(Input input);

  // The samples of a group in a mini-epoch. The owner decides their order.
  absl::Span<uint32_t> share(uint32_t group, uint32_t mini);
  absl::Span<const uint32_t> share(uint32_t group, uint32_t mini) const;
  uint64_t size(uint32_t mini) const { return sizes_[mini]; }
  uint32_t mini_epochs() const { return mini_epochs_; }
  bool raises(uint32_t group) const { return raises_[group]; }
  // A key for random draws inside this pass.
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
  std::vector<uint64_t> begin_;     // by group, and one past the last
  std::vector<uint32_t> rotation_;  // by group: where the odd samples go
  std::vector<uint64_t> sizes_;     // by mini-epoch
  std::vector<bool> raises_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_PASS_H_
