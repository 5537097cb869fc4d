// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/split_suspicion.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace shufflefs {
namespace {

constexpr uint64_t kMaxWatched = uint64_t{1} << 20;
// The share of the names that must be concerned: 1 / 50 = 2 %.
constexpr uint64_t kShare = 50;
// If chance gives fewer common names than this, they are no evidence.
constexpr double kLeastChance = 8;

// Returns whether `common` is far above the `chance` that is expected.
// `deviations` says how many standard deviations are far.
bool BeyondChance(double common, double chance, double deviations) {
  return common > 1.5 * chance + deviations * std::sqrt(chance) + 4;
}

}  // namespace

absl::string_view SuspicionText(Suspicion suspicion) {
  switch (suspicion) {
    case Suspicion::kNone:
      return "";
    case Suspicion::kUnopened:
      return "over 2 % of the names were never opened in an epoch";
    case Suspicion::kDisjointReaders:
      return "readers of other names followed readers that had ended";
    case Suspicion::kSameEnd:
      return "epochs end in the same names";
    case Suspicion::kEarlier:
      return "an earlier run suspected one, and its epoch goes on";
  }
  return "";
}

void SplitSuspicion::Part::Add(uint64_t index) {
  names.Set(index);
  ++size;
  if (before.Get(index)) ++common;
}

void SplitSuspicion::Part::Roll(bool comparable, uint64_t watched) {
  if (comparable && watched > 0) {
    common_sum += static_cast<double>(common);
    chance_sum += static_cast<double>(size) * static_cast<double>(size_before) /
                  static_cast<double>(watched);
  }
  before.Swap(names);
  names.ClearAll();
  size_before = size;
  size = common = 0;
}

void SplitSuspicion::Part::Forget() { common_sum = chance_sum = 0; }

SplitSuspicion::SplitSuspicion(const Options& options)
    : options_(options),
      stride_((options.names + kMaxWatched - 1) / kMaxWatched +
              (options.names == 0 ? 1 : 0)),
      watched_((options.names + stride_ - 1) / stride_),
      eighth_(options.names / 8),
      first_in_group_(options.groups, kUntouched),
      head_(watched_),
      tail_(watched_),
      head_end_(eighth_) {}

void SplitSuspicion::OnOpen(const Open& open) {
  const uint64_t number = opens_++;
  const auto [it, is_new] =
      slot_of_.try_emplace(open.reader, static_cast<uint16_t>(readers_.size()));
  if (is_new) {
    if (readers_.size() >= kMaxReaders) {
      too_many_readers_ = true;
      slot_of_.erase(it);
    } else {
      readers_.push_back({});
    }
  }
  if (!too_many_readers_) {
    Reader& reader = readers_[it->second];
    if (open.fresh) {
      if (reader.fresh++ == 0) reader.first = number;
      reader.last = number;
    } else {
      ++reader.reopened;
    }
    uint16_t& first = first_in_group_[open.group];
    if (first == kUntouched) first = it->second;
    if (open.fresh && first != it->second) ++reader.mixed;
  }
  if (!open.fresh) return;
  if (by_foreign_ && by_foreign_->Get(open.name)) {
    by_foreign_->Clear(open.name);
    --only_foreign_jobs_;
  }
  const uint64_t rank = fresh_++;
  if (open.name % stride_ != 0) return;
  if (rank < head_end_) head_.Add(open.name / stride_);
  if (rank >= options_.names - eighth_) tail_.Add(open.name / stride_);
}

void SplitSuspicion::OnForeignJob(uint64_t name, bool seen) {
  if (seen) return;
  if (!by_foreign_) by_foreign_.emplace(options_.names);
  if (by_foreign_->Set(name)) ++only_foreign_jobs_;
}

Suspicion SplitSuspicion::AtBoundary(char rule, uint64_t seen, uint64_t begun) {
  if (std::exchange(resumed_, false)) rule = 't';
  const bool whole = WholePass(rule, seen);
  if (!whole) {
    head_.Forget();
    tail_.Forget();
  }
  head_.Roll(whole && before_whole_, watched_);
  tail_.Roll(whole && before_whole_, watched_);
  before_whole_ = whole;

  Suspicion suspicion = Suspicion::kNone;
  if (rule != 't') {
    if (DisjointReaders()) {
      suspicion = Suspicion::kDisjointReaders;
    } else if (Unopened(std::min(seen + only_foreign_jobs_, options_.names)) &&
               (rule != 's' || 2 * seen >= options_.names)) {
      suspicion = Suspicion::kUnopened;
    } else if (SameEnd()) {
      suspicion = Suspicion::kSameEnd;
    }
  }
  readers_.clear();
  slot_of_.clear();
  too_many_readers_ = false;
  first_in_group_.assign(first_in_group_.size(), kUntouched);
  by_foreign_.reset();
  only_foreign_jobs_ = 0;
  opens_ = 0;
  fresh_ = begun;
  head_end_ = begun + eighth_;
  return suspicion;
}

bool SplitSuspicion::WholePass(char rule, uint64_t seen) const {
  return (rule == 'a' || rule == 'b' || rule == 's') && !Unopened(seen) &&
         kShare * (options_.names - seen) <= options_.names;
}

bool SplitSuspicion::Unopened(uint64_t opened) const {
  return !options_.length_configured &&
         kShare * (options_.names - opened) > options_.names;
}

bool SplitSuspicion::DisjointReaders() const {
  if (too_many_readers_) return false;
  std::vector<Reader> order;
  std::copy_if(readers_.begin(), readers_.end(), std::back_inserter(order),
               [](const Reader& reader) { return reader.fresh > 0; });
  std::sort(order.begin(), order.end(),
            [](const Reader& a, const Reader& b) { return a.first < b.first; });
  uint64_t before = 0;  // names opened by phases that had ended
  for (size_t i = 0; i < order.size();) {
    // A phase is a set of readers whose opens interleave.
    Reader phase = order[i++];
    while (i < order.size() && order[i].first < phase.last) {
      const Reader& next = order[i++];
      phase.last = std::max(phase.last, next.last);
      phase.fresh += next.fresh;
      phase.reopened += next.reopened;
      phase.mixed += next.mixed;
    }
    const double chance = static_cast<double>(before) *
                          static_cast<double>(phase.fresh + phase.reopened) /
                          static_cast<double>(options_.names);
    if (kShare * before >= options_.names &&
        kShare * phase.mixed >= options_.names && chance >= kLeastChance &&
        2 * static_cast<double>(phase.reopened) <= chance) {
      return true;
    }
    before += phase.fresh;
  }
  return false;
}

bool SplitSuspicion::SameEnd() const {
  return BeyondChance(tail_.common_sum, tail_.chance_sum, 6) &&
         !BeyondChance(head_.common_sum, head_.chance_sum, 3);
}

}  // namespace shufflefs
