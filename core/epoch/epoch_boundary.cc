// SPDX-License-Identifier: Apache-2.0
// The part of EpochDetector that ends an epoch. It decides what is retained and
// whether to hold, learns from the pass, and begins the next epoch.
#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "core/epoch/epoch_detector.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMaxForeignJobs = 64;

}  // namespace

EpochOutcome EpochDetector::OnSignal() {
  EpochOutcome outcome;
  lengths_.Forget();
  candidate_names_.clear();  // another job opened them in the epoch that ended
  if (opened_count() == 0) return outcome;
  outcome.verdict = Verdict::kRebind;
  outcome.rule = 's';
  outcome.ended_seen = opened_count();
  // The owner's pass is over. If the owner exits now, it leaves no pass to end.
  owner_opens_ = 0;
  start_unknown_ = owner_unknown_ = false;
  now_.pending = 0;
  pending_.ClearAll();
  BeginEpoch('s', log_.next());
  return outcome;
}

// All processes of the owner are gone: nobody continues its pass.
EpochOutcome EpochDetector::TakeOver(const Open& open, Alive alive) {
  const bool hidden = owner_ == kHiddenJob;
  const bool was_foreign = foreign_jobs_.erase(open.job) != 0;
  const bool small = owner_opens_ < small_takeover_;
  const bool is_in_pass = was_foreign || (owner_unknown_ && open.older);
  owner_ = open.job;
  owner_opens_ = 0;
  owner_passed_ = false;
  // A shell loop that starts a process per file would otherwise end the epoch
  // at every file. An owner that opened hardly anything left no pass to end.
  if (small) return OnOwnerOpen(open, alive);

  EpochOutcome outcome;
  outcome.rule = 't';
  outcome.open = OpenClass::kFresh;
  outcome.ended_seen = opened_count();
  // A hidden reader that fell silent may come back. A foreign job that became
  // the owner is in the middle of its own pass. So is the job whose pass this
  // process restored, if it comes back after another one read.
  const bool hold =
      hidden || is_in_pass || owner_unknown_ || ForeignJobAlive(alive);
  start_unknown_ = is_in_pass;
  owner_unknown_ = owner_unknown_ && !open.older;
  outcome.verdict = hold ? Verdict::kHold : Verdict::kRebind;
  if (hold) outcome.reason = HoldReason::kForeignJob;
  if (!hold) outcome.retained.push_back(open.name);
  outcome.begins_pass = !hold;
  lengths_.Forget();
  now_.pending = 0;
  pending_.ClearAll();
  ++owner_opens_;
  const uint64_t position = log_.Push(open.name, /*repeat=*/false);
  outcome.retained_from = position;
  ring_.Push(open.name, open.reader, open.time);
  BeginEpoch('t', position);
  return outcome;
}

void EpochDetector::NoteForeignJob(JobId job, Alive alive) {
  if (foreign_jobs_.contains(job)) return;
  if (foreign_jobs_.size() >= kMaxForeignJobs) {
    absl::erase_if(foreign_jobs_, [&](JobId each) { return !alive(each); });
  }
  if (foreign_jobs_.size() < kMaxForeignJobs) {
    foreign_jobs_.insert(job);
  } else {
    more_foreign_jobs_ = true;  // taken for alive: it can no longer be asked
  }
}

bool EpochDetector::ForeignJobAlive(Alive alive) const {
  return more_foreign_jobs_ ||
         std::any_of(foreign_jobs_.begin(), foreign_jobs_.end(),
                     [&](JobId foreign_job) { return alive(foreign_job); });
}

EpochOutcome EpochDetector::EndPass(Alive alive) {
  return Declare('a', OpenClass::kReopen, absl::nullopt, alive);
}

EpochOutcome EpochDetector::Declare(char rule, OpenClass open_class,
                                    absl::optional<uint64_t> name,
                                    Alive alive) {
  const Boundary boundary = FindBoundary(rule);
  EpochOutcome outcome;
  outcome.open = open_class;
  outcome.rule = rule;
  outcome.ended_seen = opened_count();
  outcome.retained_from = boundary.retained_from;
  outcome.reason = WhyHold(rule, boundary, alive);
  std::vector<uint64_t> retained = NamesFrom(boundary.retained_from);
  Learn(rule, boundary, outcome.reason, retained.size());
  if (outcome.reason == HoldReason::kNone) {
    start_unknown_ = owner_unknown_ = false;
    outcome.verdict = Verdict::kRebind;
    outcome.retained = std::move(retained);
    outcome.begins_pass = open_class == OpenClass::kReopen;
  } else {
    // Of an epoch that was resumed it is not known which names are left.
    start_unknown_ = start_unknown_ || (is_resumed_ && boundary.overflow);
    outcome.verdict = Verdict::kHold;
  }
  BeginEpoch(rule, boundary.pass_from);
  if (name && seen_.Set(*name)) ++seen_count_;
  return outcome;
}

// A job that leaves out a name or two of a pass may begin the next one with
// just these. That looks like a whole pass. So as long as passes are not known
// to be whole, the last names keep their samples, too.
uint64_t EpochDetector::Doubtful() const {
  return lengths_.exact() || !options_.may_leave_out || options_.names < 32 ? 0
                                                                            : 2;
}

EpochDetector::Boundary EpochDetector::FindBoundary(char rule) const {
  const bool candidate = now_.candidate > 0;
  Boundary boundary;
  if (rule == 'a' && (!candidate || now_.start >= now_.fresh_end)) {
    boundary.clean = true;
    boundary.pass_from = now_.fresh_end;
    boundary.retained_from =
        now_.fresh_end - std::min(now_.fresh_end, Doubtful());
  } else {
    // Fresh opens of the new pass may have come before its first re-open.
    const double covered =
        static_cast<double>(now_.covered) / static_cast<double>(options_.names);
    const uint64_t margin = static_cast<uint64_t>(std::ceil(8 / covered));
    boundary.retained_from = now_.start - std::min(now_.start, margin);
    boundary.pass_from = rule == 'a' ? now_.fresh_end : now_.start;
  }
  const uint64_t oldest = std::max(log_.oldest(), epoch_from_);
  boundary.overflow = std::max(boundary.retained_from, epoch_from_) < oldest;
  boundary.retained_from = std::max(boundary.retained_from, oldest);
  boundary.pass_from = std::max(boundary.pass_from, oldest);
  return boundary;
}

HoldReason EpochDetector::WhyHold(char rule, const Boundary& boundary,
                                  Alive alive) const {
  if (rule == 'c') return HoldReason::kPartial;
  if (boundary.overflow) return HoldReason::kOverflow;
  if (now_.stray > 8 + options_.names / 50) return HoldReason::kStray;
  // Rule c may have cut a pass in two. If the length of a pass is only learnt,
  // it was learnt from such passes, and three alike are believed.
  if (began_unexplained_ && (rule == 'a' || options_.epoch_length > 0)) {
    return HoldReason::kUntrusted;
  }
  if (start_unknown_ && boundary.clean) return HoldReason::kUntrusted;
  // The first pass that is seen may be of somebody who passes by.
  if (owner_unknown_ && !owner_passed_) return HoldReason::kForeignJob;
  return ForeignJobAlive(alive) ? HoldReason::kForeignJob : HoldReason::kNone;
}

std::vector<uint64_t> EpochDetector::NamesFrom(uint64_t position) const {
  std::vector<uint64_t> names;
  absl::flat_hash_set<uint64_t> known;
  for (uint64_t i = position; i < log_.next(); ++i) {
    if (known.insert(log_.name(i)).second) names.push_back(log_.name(i));
  }
  return names;
}

void EpochDetector::Learn(char rule, const Boundary& boundary, HoldReason hold,
                          uint64_t retained) {
  if (is_resumed_) return;  // only a part of the pass was read here
  if (boundary.clean) retained -= std::min(retained, Doubtful());
  const uint64_t length = rule == 'a' ? options_.names : now_.covered;
  const bool regular = !boundary.overflow &&
                       now_.stray <= 8 + options_.names / 50 &&
                       hold != HoldReason::kUntrusted && 2 * retained <= length;
  if (!regular) {
    lengths_.Forget();
    return;
  }
  lengths_.Add(length, boundary.clean && now_.stray == 0);
}

void EpochDetector::BeginEpoch(char rule, uint64_t pass_from) {
  // The pass that the candidate began is over, too: its last names were those
  // that the one before had left out. A third one has begun since.
  if (rule == 'a' && 10 * now_.pending >= 8 * options_.names &&
      now_.start < now_.fresh_end) {
    pending_.ClearAll();
    now_.pending = 0;
  }
  seen_.Swap(pending_);
  pending_.ClearAll();
  seen_count_ = now_.pending;
  for (uint64_t i = pass_from; i < log_.next(); ++i) {
    // The second open by the same client call still belongs to the first.
    if (!log_.repeat(i) && seen_.Set(log_.name(i))) ++seen_count_;
  }
  resumed_.Clear();
  is_resumed_ = false;
  now_ = Counters();
  now_.fresh_end = log_.next();
  windows_.Clear();
  foreign_jobs_.clear();
  more_foreign_jobs_ = false;
  candidate_names_.clear();  // they were opened in the epoch that ended
  epoch_from_ = pass_from;
  began_unexplained_ = rule == 'c';
  owner_passed_ = owner_passed_ || (rule != 't' && rule != 's');
}

}  // namespace shufflefs
