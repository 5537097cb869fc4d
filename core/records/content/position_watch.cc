// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/position_watch.h"

#include <algorithm>

namespace shufflefs {

void PositionWatch::Opened(EntryId file, uint32_t process) {
  File& state = state_[file];
  state.fresh = true;
  if (state.process != process) state = {state.end, true, process, 0, 0};
  ++state.opens;
}

bool PositionWatch::Wanted(EntryId file, uint64_t begin, uint64_t end) {
  const auto found = state_.find(file);
  if (found == state_.end()) return false;
  File& state = found->second;
  const bool first = state.fresh;
  state.fresh = false;
  const uint64_t gap = std::max(kGap * (end - begin), kLeastGap);
  if (begin > state.end + gap) return first;
  if (end > state.end) {
    state.end = end;
    if (first) ++state.grown;
  }
  return false;
}

bool PositionWatch::MayBeLastStep(EntryId file, uint64_t begin) const {
  const auto found = state_.find(file);
  return found != state_.end() && begin <= found->second.end + kGap * kMostStep;
}

bool PositionWatch::OpensPieces(EntryId file, uint32_t process,
                                Pass pass) const {
  const auto found = state_.find(file);
  if (process == 0 || found == state_.end() ||
      found->second.process != process) {
    return false;
  }
  return found->second.grown > kMostPieces ||
         (pass == Pass::kNew && found->second.opens >= kMostPiecesOfNewPass);
}

}  // namespace shufflefs
