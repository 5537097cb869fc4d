// SPDX-License-Identifier: Apache-2.0
#include "core/sample_set.h"

#include <algorithm>

namespace shufflefs {
namespace {

constexpr uint64_t kLeastUnsettled = 4096;

bool ByIndex(const SampleBits& a, const SampleBits& b) {
  return a.index < b.index;
}

}  // namespace

void SampleSet::Add(uint64_t sample) {
  const uint64_t bit = uint64_t{1} << (sample % 64);
  if (!bits_.empty() && bits_.back().index == sample / 64) {
    bits_.back().bits |= bit;
    return;
  }
  bits_.push_back({sample / 64, bit});
  if (bits_.size() > 2 * settled_ + kLeastUnsettled) Settle();
}

void SampleSet::Settle() {
  std::sort(bits_.begin(), bits_.end(), ByIndex);
  size_t kept = 0;
  for (size_t i = 0; i < bits_.size(); ++i) {
    if (kept > 0 && bits_[kept - 1].index == bits_[i].index) {
      bits_[kept - 1].bits |= bits_[i].bits;
    } else {
      bits_[kept++] = bits_[i];
    }
  }
  bits_.resize(kept);
  settled_ = kept;
}

uint64_t SampleSet::size() const {
  uint64_t size = 0;
  for (const SampleBits& part : bits_) {
    size += static_cast<uint64_t>(std::popcount(part.bits));
  }
  return size;
}

bool SampleSet::Contains(uint64_t sample) const {
  const auto it = std::lower_bound(bits_.begin(), bits_.end(),
                                   SampleBits{sample / 64, 0}, ByIndex);
  return it != bits_.end() && it->index == sample / 64 &&
         (it->bits >> (sample % 64) & 1) != 0;
}

}  // namespace shufflefs
