// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/epoch_detector.h"

#include <algorithm>
#include <cmath>

namespace shufflefs {
namespace {

// With fewer names than this, a window holds too few opens to be evidence.
constexpr uint64_t kFewNames = 64;
// A re-open extends a candidate's life by this many fresh opens. So the
// candidate lives while more than one open in nine is a re-open.
constexpr uint64_t kLifePerReopen = 8;

// The log holds a third of the names, and this many opens of a new pass before
// the first of them that is a re-open (see FindBoundary).
constexpr uint64_t kBeforeStart = 16;

// The time of an open in an earlier life of the daemon, which is not known. The
// name counts as opened just now until other opens have pushed it out of the
// ring.
constexpr std::chrono::milliseconds kJustNow = std::chrono::milliseconds::max();
constexpr uint32_t kNobody = 0;

uint64_t Ceil(double value) { return static_cast<uint64_t>(std::ceil(value)); }

}  // namespace

std::string VerdictName(char rule) {
  if (rule == 't') return "takeover";
  return rule == 's' ? "signal" : std::string(1, rule);
}

absl::string_view HoldReasonName(HoldReason reason) {
  switch (reason) {
    case HoldReason::kNone:
      return "";
    case HoldReason::kOverflow:
      return "overflow";
    case HoldReason::kStray:
      return "stray";
    case HoldReason::kUntrusted:
      return "untrusted";
    case HoldReason::kForeignJob:
      return "guest";
    case HoldReason::kPartial:
      return "partial";
    case HoldReason::kLost:
      return "lost";
    case HoldReason::kLate:
      return "late";
    case HoldReason::kPeers:
      return "peers";
  }
  return "";
}

EpochDetector::EpochDetector(const Options& options)
    : options_(options),
      enough_(std::clamp<uint64_t>(options.names / 32, 9, 33)),
      padding_(std::min<uint64_t>(std::max<uint32_t>(options.pad, 1),
                                  std::max<uint64_t>(1, options.names / 32))),
      candidate_life_(std::clamp<uint64_t>(options.names / 100, 8, 32)),
      small_takeover_(std::clamp<uint64_t>(options.names / 4, 2, 16)),
      soon_(std::clamp<uint64_t>(options.names / 64, 1, 64)),
      lengths_(options.names, options.epoch_length),
      seen_(options.names),
      pending_(options.names),
      ring_(std::clamp<uint64_t>(lengths_.expected() / 8, 4, 1024)),
      log_(std::clamp<uint64_t>(options.names / 3 + kBeforeStart, 16, 8192)),
      windows_(std::clamp<uint64_t>(options.names / 32, 16, 256)) {}

bool EpochDetector::MayEndSoon() const {
  // In the first pass the kernel caches no name yet, so that it is early costs
  // nothing.
  const bool is_first = epoch_from_ == 0 && expects_late_opens_;
  const uint64_t soon = is_first ? std::max(soon_, options_.names / 4) : soon_;
  if (opened_count() + soon >= lengths_.expected()) return true;
  return now_.candidate > 0 && 10 * now_.covered >= 9 * lengths_.expected();
}

void EpochDetector::ExpectLateOpens() {
  const uint64_t names = options_.names;
  expects_late_opens_ = true;
  soon_ = std::max({soon_, std::min<uint64_t>(names / 2, 64),
                    std::min<uint64_t>(names / 16, 1024)});
}

void EpochDetector::LookFurtherAhead() {
  const uint64_t most =
      std::max(options_.names / 4, std::min<uint64_t>(options_.names, 512));
  soon_ = std::max(soon_, std::min(2 * soon_, most));
}

bool EpochDetector::IsLeft(Alive alive) const {
  return owned_ && owner_opens_ >= small_takeover_ && !alive(owner_);
}

bool EpochDetector::IsPassOver(const Open& open, uint64_t position) const {
  const bool complete = opened_count() == options_.names && !is_resumed_ &&
                        !start_unknown_ && now_.fresh_end > position;
  return complete && owned_ && open.job == owner_ && now_.candidate == 0 &&
         now_.pending == 0 && Classify(open) == OpenClass::kReopen;
}

void EpochDetector::Restore(const Past& past) {
  for (uint64_t name : past.seen) {
    if (seen_.Set(name)) ++seen_count_;
  }
  now_.stray = past.stray;
  began_unexplained_ = past.began_unexplained;
  owner_unknown_ = past.owner_unknown;
}

// This open and those before it brought no verdict then, because the epoch
// continued. So nothing is declared now.
void EpochDetector::Replay(uint64_t name, OpenClass open_class) {
  const uint64_t position = log_.Push(name, /*repeat=*/false);
  ring_.Push(name, kNobody, kJustNow);
  if (open_class == OpenClass::kDouble ||
      open_class == OpenClass::kForeignJob) {
    return;
  }
  if (!seen_.Get(name)) return CountFresh(name, position);
  if (open_class == OpenClass::kFresh) return;
  if (pending_.Get(name)) {
    ++now_.stray;
    return;
  }
  Complete();
  CountReopen(name, position);
}

void EpochDetector::Resume(absl::Span<const uint64_t> known, uint64_t unknown,
                           absl::Span<const uint64_t> due) {
  resumed_.Begin(options_.names, known, unknown, due);
  is_resumed_ = true;
  if (opened_count() == options_.names) EndResumed();
}

std::vector<uint64_t> EpochDetector::Recent() const {
  std::vector<uint64_t> names;
  ring_.ForEach([&](uint64_t name) { names.push_back(name); });
  return names;
}

void EpochDetector::KeepRecent(absl::Span<const uint64_t> names) {
  for (const uint64_t name : names) ring_.Push(name, kNobody, kJustNow);
}

// Nothing of the resumed epoch is left to open. From now on, opens belong to
// the next epoch.
void EpochDetector::EndResumed() {
  if (!resumed_.WereSkipped()) return;
  resumed_.ForEachKnown(
      [this](uint64_t name) { seen_count_ += seen_.Set(name) ? 1 : 0; });
  resumed_.Clear();
}

EpochOutcome EpochDetector::OnOpen(const Open& open, Alive alive) {
  if (!owned_) {
    owned_ = true;
    owner_ = open.job;
    owner_opens_ = 0;
    // Nobody was in the middle of a pass.
    const uint64_t opened = opened_count();
    if (opened == 0 || opened == options_.names) owner_unknown_ = false;
  }
  if (open.job == owner_) return OnOwnerOpen(open, alive);
  if (!alive(owner_)) return TakeOver(open, alive);
  if (OutreadsOwner(open)) {
    std::vector<uint64_t> counted = TakeOwnership(open, alive);
    EpochOutcome outcome = OnOwnerOpen(open, alive);
    outcome.counted = std::move(counted);
    return outcome;
  }
  NoteForeignJob(open.job, alive);
  EpochOutcome outcome;
  outcome.open = OpenClass::kForeignJob;
  return outcome;
}

bool EpochDetector::OutreadsOwner(const Open& open) {
  // Its own opens count. After a restart the epoch has others, too.
  if (owner_passed_ || owner_opens_ >= small_takeover_) return false;
  if (candidate_ != open.job) candidate_names_.clear();
  candidate_ = open.job;
  candidate_names_.push_back(open.name);
  return candidate_names_.size() >= 2 * small_takeover_;
}

std::vector<uint64_t> EpochDetector::TakeOwnership(const Open& open,
                                                   Alive alive) {
  NoteForeignJob(owner_, alive);
  foreign_jobs_.erase(open.job);
  owner_ = open.job;
  owner_opens_ = candidate_names_.size() - 1;
  candidate_names_.pop_back();  // this open is counted later
  std::vector<uint64_t> counted;
  for (const uint64_t name : candidate_names_) {
    const uint64_t position = log_.Push(name, /*repeat=*/false);
    ring_.Push(name, open.reader, open.time);
    if (seen_.Get(name)) continue;
    if (!resumed_.Knows(name)) counted.push_back(name);
    CountFirst(name, position);
  }
  candidate_names_.clear();
  return counted;
}

EpochOutcome EpochDetector::OnOwnerOpen(const Open& open, Alive alive) {
  ++owner_opens_;
  if (open.older) owner_unknown_ = false;
  EpochOutcome outcome;
  outcome.open = Classify(open);
  outcome.repeat = outcome.open == OpenClass::kDouble &&
                   ring_.RepeatedBy(open.reader, open.name);
  const uint64_t position = log_.Push(open.name, outcome.repeat);
  ring_.Push(open.name, open.reader, open.time);
  switch (outcome.open) {
    case OpenClass::kDouble:
    case OpenClass::kForeignJob:
      return outcome;
    case OpenClass::kFresh:
    case OpenClass::kBefore:
      CountFirst(open.name, position);
      break;
    case OpenClass::kReopen:
      if (Complete()) {
        return Declare('a', outcome.open, open.name, alive);
      }
      CountReopen(open.name, position);
      break;
    case OpenClass::kStray:
      ++now_.stray;
      break;
  }
  const char rule = TestWindows();
  return rule == 0 ? outcome : Declare(rule, outcome.open, open.name, alive);
}

OpenClass EpochDetector::Classify(const Open& open) const {
  // Test for fresh first: a name that was last opened at the end of the old
  // pass is still in the ring when the new pass opens it.
  if (!seen_.Get(open.name)) {
    return resumed_.Knows(open.name) ? OpenClass::kBefore : OpenClass::kFresh;
  }
  if (ring_.Recent(open.name, open.time, options_.double_open)) {
    return OpenClass::kDouble;
  }
  return pending_.Get(open.name) ? OpenClass::kStray : OpenClass::kReopen;
}

void EpochDetector::CountFirst(uint64_t name, uint64_t position) {
  const bool is_due = resumed_.IsDue(name);
  const bool is_left = !resumed_.Knows(name) && opened_count() < options_.names;
  if (resumed_.Knows(name)) {
    resumed_.TakeKnown(name);
  } else if (is_left) {
    resumed_.TakeLeft();
  } else {
    resumed_.TakeUnknown();
  }
  if (is_due || is_left) {
    CountFresh(name, position);
    if (opened_count() == options_.names) EndResumed();
    return;
  }
  // The open is no evidence. It may be of this pass or of the next.
  seen_.Set(name);
  ++seen_count_;
}

void EpochDetector::CountFresh(uint64_t name, uint64_t position) {
  seen_.Set(name);
  ++seen_count_;
  now_.fresh_end = position + 1;
  windows_.Push(/*reopen=*/false);
  if (now_.candidate > 0 && --now_.candidate == 0) DismissCandidate();
}

void EpochDetector::CountReopen(uint64_t name, uint64_t position) {
  if (now_.candidate == 0) {
    const double covered =
        static_cast<double>(seen_count_) / static_cast<double>(options_.names);
    now_.start = position;
    now_.covered = seen_count_;
    now_.near_threshold = windows_.near.Threshold(covered);
    now_.far_threshold = windows_.far.Threshold(covered);
    now_.candidate = std::max(candidate_life_, Ceil(8 / covered));
  } else {
    now_.candidate = std::min(now_.candidate + kLifePerReopen,
                              kLifePerReopen * std::min<uint64_t>(16, enough_));
  }
  pending_.Set(name);
  ++now_.pending;
  windows_.Push(/*reopen=*/true);
}

void EpochDetector::DismissCandidate() {
  now_.stray += now_.pending;
  now_.pending = 0;
  if (now_.start < log_.oldest()) {
    pending_.ClearAll();
    return;
  }
  for (uint64_t i = now_.start; i < log_.next(); ++i) {
    pending_.Clear(log_.name(i));
  }
}

// Counts a re-open after every name was seen. Returns whether it completes rule
// a.
bool EpochDetector::Complete() {
  return opened_count() == options_.names && resumed_.due_count() == 0 &&
         ++now_.after_complete >= (lengths_.exact() ? 1 : padding_);
}

char EpochDetector::TestWindows() const {
  if (options_.names < kFewNames || now_.candidate == 0) return 0;
  // Rule a knows better where the pass ended. The candidate may have begun with
  // padding, which comes before the end, and in a fixed order always the same.
  if (opened_count() == options_.names) return 0;
  const bool ceased = lengths_.known()
                          ? windows_.near.fresh() <= now_.near_threshold
                          : windows_.far.fresh() <= now_.far_threshold;
  if (!ceased) return 0;
  if (10 * now_.covered >= 9 * lengths_.expected()) {
    return now_.pending >= enough_ ? 'b' : 0;
  }
  const bool enough = 100 * now_.covered >= 15 * options_.names &&
                      100 * now_.pending >= 7 * options_.names;
  return enough ? 'c' : 0;
}

}  // namespace shufflefs
