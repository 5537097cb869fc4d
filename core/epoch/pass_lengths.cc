// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/pass_lengths.h"

#include <algorithm>

namespace shufflefs {

void PassLengths::Add(uint64_t length, bool exact) {
  exact_ = exact ? exact_ + 1 : 0;
  last_.push_back(length);
  if (last_.size() > 3) last_.pop_front();
  learnt_ = 0;
  // A long pass is believed after two, a short one only after three. A short
  // pass may be an accident, and to rebind in its middle would be wrong.
  const bool drop_last =
      LastAgree(2) &&
      10 * *std::min_element(last_.end() - 2, last_.end()) >= 9 * names_;
  if (drop_last || LastAgree(3)) learnt_ = length;
}

void PassLengths::Forget() {
  last_.clear();
  learnt_ = 0;
  exact_ = 0;
}

uint64_t PassLengths::expected() const {
  if (configured_ != 0) return configured_;
  return learnt_ != 0 ? learnt_ : names_;
}

bool PassLengths::LastAgree(uint64_t count) const {
  if (last_.size() < count) return false;
  const auto [low, high] = std::minmax_element(
      last_.end() - static_cast<std::ptrdiff_t>(count), last_.end());
  return 20 * (*high - *low) <= *high;
}

}  // namespace shufflefs
