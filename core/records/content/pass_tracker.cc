// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/pass_tracker.h"

#include <algorithm>
#include <iterator>

namespace shufflefs {

int64_t SeenBytes::Add(uint64_t begin, uint64_t end, uint64_t most) {
  if (begin >= end) return 0;
  const size_t before_all = ranges_.size();
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= begin) {
      begin = before->first;
      end = std::max(end, before->second);
      ranges_.erase(before);
    }
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  // A range that merged with others takes the place of one.
  if (ranges_.size() < before_all || before_all < most) ranges_[begin] = end;
  return static_cast<int64_t>(ranges_.size()) -
         static_cast<int64_t>(before_all);
}

PassTracker::OpenIs PassTracker::Open(EntryId file, uint32_t reader,
                                      uint64_t files) {
  File& state = state_[file];
  if (IsComplete(files) && state.was_opened) {
    if (state.open == 0) return OpenIs::kTheNextPass;
    if (reader != 0 && state.unclear.erase(reader) == 0) {
      state.unclear.insert(reader);
      return OpenIs::kUnclear;
    }
  }
  ++state.open;
  state.was_opened = true;
  return OpenIs::kOfThisPass;
}

bool PassTracker::BeginsByLookup(EntryId file, uint64_t files) {
  const auto found = state_.find(file);
  return found != state_.end() && IsComplete(files) &&
         !found->second.unclear.empty() && found->second.open == 0;
}

void PassTracker::Close(EntryId file) {
  File& state = state_[file];
  if (state.open > 0) --state.open;
}

bool PassTracker::Delivered(EntryId file, uint64_t begin, uint64_t end,
                            uint64_t size) {
  File& state = state_[file];
  if (state.complete) return false;
  const uint64_t others = ranges_ - state.seen.ranges();
  ranges_ += static_cast<uint64_t>(
      state.seen.Add(begin, end, kMostRanges - std::min(others, kMostRanges)));
  state.complete = state.seen.HasAll(size);
  complete_ += state.complete ? 1 : 0;
  return state.complete;
}

void PassTracker::Restore(EntryId file) {
  File& state = state_[file];
  state.was_opened = true;
  complete_ += state.complete ? 0 : 1;
  state.complete = true;
}

}  // namespace shufflefs
