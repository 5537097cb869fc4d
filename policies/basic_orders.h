// SPDX-License-Identifier: Apache-2.0
// Orders that several policies use: the source's own, and a rotation. Both are
// O(1) in memory and time and immutable. Any thread may call.
#ifndef SHUFFLEFS_POLICIES_BASIC_ORDERS_H_
#define SHUFFLEFS_POLICIES_BASIC_ORDERS_H_

#include <cstdint>

#include "core/policy/policy.h"

namespace shufflefs {

// Has sample i at position i.
class IdentityOrder : public Order {
 public:
  explicit IdentityOrder(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  uint64_t SampleAt(uint64_t position) const override { return position; }
  uint64_t PositionOf(uint64_t sample) const override { return sample; }

 private:
  const uint64_t size_;
};

// Has sample `start` at position 0, and continues from there, around the end.
class RotationOrder : public Order {
 public:
  // REQUIRES: start < size, or both are 0.
  RotationOrder(uint64_t size, uint64_t start) : size_(size), start_(start) {}
  uint64_t size() const override { return size_; }
  uint64_t SampleAt(uint64_t position) const override {
    return position < size_ - start_ ? position + start_
                                     : position - (size_ - start_);
  }
  uint64_t PositionOf(uint64_t sample) const override {
    return sample >= start_ ? sample - start_ : sample + (size_ - start_);
  }

 private:
  const uint64_t size_;
  const uint64_t start_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BASIC_ORDERS_H_
