// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/read_plan.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// A thread is gone if the threads made this many opens each since its last one.
constexpr uint64_t kLongIdle = 2048;

}  // namespace

ReadPlan::ReadPlan(std::vector<uint32_t> order, std::vector<bool> opened)
    : order_(std::move(order)),
      places_(opened.size(), static_cast<uint32_t>(order_.size())),
      states_(opened.size(), State::kUnread) {
  for (uint32_t place = order_.size(); place-- > 0;) {
    places_[order_[place]] = place;
  }
  for (uint32_t i = 0; i < opened.size(); ++i) {
    if (opened[i]) states_[i] = State::kOpened;
  }
}

void ReadPlan::Came(uint64_t thread, uint32_t index) {
  Opened(index);
  if (places_[index] == order_.size()) return;
  Front& front = fronts_[thread];
  front.place = places_[index] + 1;
  front.came = ++clock_;
  // The thread is in another batch. What is between belongs to others.
  front.scan = std::max(front.scan, front.place);
  if (clock_ % kLongIdle == 0) DropIdle();
}

void ReadPlan::DropIdle() {
  const uint64_t long_ago = kLongIdle * fronts_.size();
  absl::erase_if(fronts_, [&](const auto& front) {
    return clock_ - front.second.came > long_ago;
  });
}

void ReadPlan::Opened(uint32_t index) {
  if (states_[index] == State::kRead) --ahead_;
  states_[index] = State::kOpened;
}

std::vector<uint32_t> ReadPlan::Next(size_t most) {
  if (fronts_.empty()) return {};
  PassBy();
  std::vector<uint32_t> next;
  std::vector<Front*> fronts;
  for (auto& [thread, front] : fronts_) fronts.push_back(&front);
  std::sort(fronts.begin(), fronts.end(),
            [](const Front* a, const Front* b) { return a->place < b->place; });
  // By turns, because their readers also read by turns.
  while (next.size() < most && !fronts.empty()) {
    std::erase_if(fronts, [&](Front* front) {
      uint32_t& scan = front->scan;
      while (scan < order_.size() && states_[order_[scan]] != State::kUnread) {
        ++scan;
      }
      if (scan == order_.size()) return true;
      if (next.size() == most) return false;
      states_[order_[scan]] = State::kRead;
      ++ahead_;
      next.push_back(order_[scan]);
      return false;
    });
  }
  return next;
}

// The worker that is furthest behind reads the first incomplete batch. So
// everything before it was opened or never will be.
void ReadPlan::PassBy() {
  uint32_t first = static_cast<uint32_t>(order_.size());
  for (const auto& [thread, front] : fronts_) {
    first = std::min(first, front.place);
  }
  for (; passed_ < first; ++passed_) {
    if (states_[order_[passed_]] == State::kRead) Opened(order_[passed_]);
  }
}

}  // namespace shufflefs
