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

PassTracker::OpenIs PassTracker::Open(EntryId file, const PassReader& reader,
                                      uint64_t files, IsGone is_gone) {
  File& state = state_[file];
  if (IsComplete(files) && state.was_opened &&
      !IsSlowWorker(state, reader, is_gone)) {
    if (state.open == 0) return OpenIs::kTheNextPass;
    if (reader.thread != 0 && state.unclear.erase(reader.thread) == 0) {
      state.unclear.insert(reader.thread);
      return OpenIs::kUnclear;
    }
  }
  ++state.open;
  state.was_opened = true;
  Remember(state, reader, is_gone);
  return OpenIs::kOfThisPass;
}

bool PassTracker::IsSlowWorker(const File& file, const PassReader& reader,
                               IsGone is_gone) const {
  if (reader.process == 0 || file.processes.contains(reader.process)) {
    return false;
  }
  // Workers that share out the files may each begin the next pass with a file
  // that another one had.
  const bool is_known = loaders_.contains(reader.process);
  if (is_known && !is_shared_) return false;
  const bool is_old = !is_known && reader.start < completed_;
  for (const auto& [process, loader] : loaders_) {
    // The loader itself outlives the workers of each pass.
    if (loader == reader.loader && process != loader &&
        process != reader.process && (is_old || !is_gone(process))) {
      return true;
    }
  }
  return false;
}

void PassTracker::Remember(File& file, const PassReader& reader,
                           IsGone is_gone) {
  if (reader.process == 0 || file.processes.contains(reader.process)) return;
  if (pairs_ >= kMostPairs) {
    // It looks at each of them, so not every time.
    if (refused_++ % (kMostPairs / 16) == 0) Forget(is_gone);
    if (pairs_ >= kMostPairs) return;
  }
  if (reader.process != reader.loader) {
    is_shared_ |= !file.loaders.insert(reader.loader).second;
  }
  loaders_[reader.process] = reader.loader;
  file.processes.insert(reader.process);
  ++pairs_;
}

void PassTracker::Forget(IsGone is_gone) {
  absl::erase_if(loaders_,
                 [&](const auto& each) { return is_gone(each.first); });
  pairs_ = 0;
  for (auto& [id, file] : state_) {
    absl::erase_if(file.processes, [this](uint32_t process) {
      return !loaders_.contains(process);
    });
    pairs_ += file.processes.size();
  }
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
                            uint64_t size, uint64_t now) {
  File& state = state_[file];
  if (state.complete) return false;
  const uint64_t others = ranges_ - state.seen.ranges();
  ranges_ += static_cast<uint64_t>(
      state.seen.Add(begin, end, kMostRanges - std::min(others, kMostRanges)));
  state.complete = state.seen.HasAll(size);
  state.again = state.again && !state.complete;
  complete_ += state.complete ? 1 : 0;
  if (state.complete) completed_ = now;
  return state.complete;
}

void PassTracker::Restore(EntryId file) {
  File& state = state_[file];
  state.was_opened = true;
  complete_ += state.complete ? 0 : 1;
  state.complete = true;
  state.again = false;
}

void PassTracker::GoOnFrom(const absl::flat_hash_set<EntryId>& whole) {
  for (auto& [file, state] : state_) {
    if (!state.complete || whole.contains(file)) continue;
    --complete_;
    ranges_ -= state.seen.ranges();
    state.complete = false;
    state.again = true;
    state.seen = {};
    state.was_opened = state.open > 0;
  }
  for (const EntryId file : whole) Restore(file);
}

bool PassTracker::IsReadAgain(EntryId file) const {
  const auto found = state_.find(file);
  return found != state_.end() && found->second.again;
}

std::vector<EntryId> PassTracker::whole() const {
  std::vector<EntryId> whole;
  for (const auto& [file, state] : state_) {
    if (state.complete) whole.push_back(file);
  }
  return whole;
}

}  // namespace shufflefs
