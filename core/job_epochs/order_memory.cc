// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/order_memory.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace shufflefs {
namespace {

constexpr uint64_t kWatched = 4096;  // names
constexpr size_t kGaps = 64;
constexpr size_t kEnough = 16;
// The workers of a node overtake each other by so many opens, or by this part
// of a pass.
constexpr int64_t kJitter = 8;
constexpr int64_t kJitterPart = 32;

}  // namespace

OrderMemory::OrderMemory(uint64_t names)
    : every_(std::max<uint64_t>(1, names / kWatched)) {}

void OrderMemory::Note(uint32_t node, uint64_t name, uint64_t number) {
  if (name % every_ != 0) return;
  const auto [found, fresh] = last_.try_emplace(name, Place{node, number});
  if (fresh) return;
  if (found->second.node == node) {
    gaps_.push_back(static_cast<int64_t>(number - found->second.number));
    if (gaps_.size() > kGaps) gaps_.pop_front();
  }
  found->second = {node, number};
}

bool OrderMemory::is_fixed() const {
  if (gaps_.size() < kEnough) return true;
  std::vector<int64_t> sorted(gaps_.begin(), gaps_.end());
  std::sort(sorted.begin(), sorted.end());
  const int64_t median = sorted[sorted.size() / 2];
  const int64_t near = std::max(kJitter, std::abs(median) / kJitterPart);
  const auto alike = std::count_if(
      sorted.begin(), sorted.end(),
      [&](int64_t gap) { return std::abs(gap - median) <= near; });
  return 4 * static_cast<size_t>(alike) >= sorted.size();
}

}  // namespace shufflefs
