// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/sample_set.h"

#include <algorithm>

namespace shufflefs {
namespace {

bool ByIndex(const SampleBits& a, const SampleBits& b) {
  return a.index < b.index;
}

}  // namespace

void SampleSet::Settle() {
  if (adding_.empty()) return;
  for (const SampleBits& part : bits_) adding_[part.index] |= part.bits;
  bits_.clear();
  bits_.reserve(adding_.size());
  for (const auto& [index, bits] : adding_) bits_.push_back({index, bits});
  std::sort(bits_.begin(), bits_.end(), ByIndex);
  adding_ = {};
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
