// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/open_tracker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace shufflefs {

OpenTracker::OpenTracker(const Options& options, JobTracker& job_tracker)
    : options_(options),
      job_tracker_(job_tracker),
      lookups_(std::make_shared<EpochLookups>(options.samples)),
      opened_(options.finds_epochs ? 0 : options.samples) {
  if (options.finds_epochs) MakeDetector();
}

void OpenTracker::MakeDetector() {
  EpochDetector::Options detector;
  detector.names = options_.samples;
  detector.epoch_length = options_.epoch_length;
  detector.pad = options_.epoch_pad;
  detector.double_open = options_.double_open;
  detector.may_leave_out = options_.may_leave_out;
  detector_ = std::make_unique<EpochDetector>(detector);
  if (expects_reports_) detector_->ExpectLateOpens();
  SplitSuspicion::Options suspicion;
  suspicion.names = options_.samples;
  suspicion.groups = options_.groups;
  suspicion.length_configured = options_.epoch_length != 0;
  suspicion_ = std::make_unique<SplitSuspicion>(suspicion);
}

bool OpenTracker::TakeLookup(const Walk& walk) {
  const uint32_t reader = walk.reader;
  const bool looked_up = walk.is_shown && lookups_->TakeLookup(walk.sample);
  hidden_readers_ = hidden_readers_ || reader == 0;
  bool believed = looked_up || !walk.is_shown;
  if (reader != 0) {
    second_try_ = lookups_->TakeSecondTry(reader);
    believed = WalkedHere(walk) ? looked_up || ListedTo(reader)
                                : looked_up && !bound_anew_;
    believed = believed || second_try_;
    if (!believed) lookups_->SendBack(reader);
  }
  if (believed) walks_ = lookups_->TakeWalks(walk.sample, reader);
  return believed;
}

bool OpenTracker::WalksAreDue() const {
  return detector_ != nullptr && !shows_walks() &&
         (short_readers_ || detector_->MayEndSoon());
}

bool OpenTracker::WalksAreDueTo(std::chrono::milliseconds now) const {
  return detector_ != nullptr && !shows_walks() &&
         detector_->IsLeft(
             [&](JobId owner) { return job_tracker_.Alive(owner, now); });
}

void OpenTracker::SendBack(SampleId name, uint32_t reader) {
  lookups_->SendBack(reader);
  if (detector_ != nullptr && detector_->seen(name.value())) {
    counted_.emplace(reader, name);
  }
}

bool OpenTracker::WalkedHere(const Walk& walk) {
  if (!walk.told) return false;
  if (!first_open_) first_open_ = walk.now;
  if (readers_.contains(walk.reader) || readers_.size() >= kMostReaders ||
      walk.now - *first_open_ > kLongestWalk) {
    return true;
  }
  readers_.emplace(walk.reader, listed_);
  return false;
}

bool OpenTracker::ListedTo(uint32_t reader) {
  if (!listed_ ||
      (readers_.size() >= kMostReaders && !readers_.contains(reader))) {
    return false;
  }
  const auto [found, fresh] = readers_.emplace(reader, true);
  return !fresh && std::exchange(found->second, true);
}

void OpenTracker::NoteListed() { listed_ = true; }

void OpenTracker::ExpectReports() {
  expects_reports_ = true;
  if (detector_ != nullptr) detector_->ExpectLateOpens();
}

bool OpenTracker::TakeReport(SampleId sample, uint32_t reader) {
  hidden_readers_ = hidden_readers_ || reader == 0;
  if (!listed_ && !lookups_->WasLookedUp(sample)) return false;
  lookups_->TakeLookup(sample);
  lookups_->TakeWalk(sample, reader);
  return true;
}

void OpenTracker::NoteWalksShown() {
  if (detector_ != nullptr && shows_walks() && !shown_from_) {
    shown_from_ = detector_->position();
  }
}

bool OpenTracker::IsLate(const EpochOutcome& outcome) const {
  if (!shown_from_) return true;
  // A new job is seen to begin when it lists a directory, so its first open may
  // be the first of all since then. Otherwise an open of the old pass came
  // since, so the new one had not begun.
  return outcome.rule == 't' ? outcome.retained_from < *shown_from_
                             : outcome.retained_from <= *shown_from_;
}

bool OpenTracker::IsPassOver(SampleId name, uint32_t reader,
                             std::chrono::milliseconds now) const {
  if (detector_ == nullptr || !shown_from_ || reader == 0) return false;
  return detector_->IsPassOver(
      {name.value(), job_tracker_.Resolve(reader, now), reader, now},
      *shown_from_);
}

OpenTracker::Seen OpenTracker::EndPass(std::chrono::milliseconds now) {
  Seen seen;
  seen.outcome = detector_->EndPass(
      [&](JobId other) { return job_tracker_.Alive(other, now); });
  seen.suspicion = SuspicionAfter(seen.outcome);
  return seen;
}

Suspicion OpenTracker::SuspicionAfter(const EpochOutcome& outcome) {
  rereads_ = 0;
  return suspicion_->AtBoundary(outcome.rule, outcome.ended_seen,
                                detector_->seen_count());
}

void OpenTracker::ShowWalksEarlier() {
  if (detector_ != nullptr) detector_->LookFurtherAhead();
}

OpenTracker::Seen OpenTracker::NoteOpen(const Open& open) {
  Seen seen;
  if (counted_ == std::make_pair(open.reader, open.name)) {
    counted_.reset();
    return seen;
  }
  if (detector_ == nullptr) {
    seen.fresh = opened_.Set(open.name.value());
    opened_count_ += seen.fresh ? 1 : 0;
    rereads_ += seen.fresh ? 0 : 1;
    return seen;
  }
  const JobId job = job_tracker_.Resolve(open.reader, open.now);
  if (expects_reports_ && open.reader != 0 && job == kHiddenJob) {
    short_readers_ = true;
  }
  const bool older =
      detector_->owner_is_unknown() && !job_tracker_.IsYounger(job);
  seen.outcome = detector_->OnOpen(
      EpochDetector::Open{open.name.value(), job, open.reader, open.now, older},
      [&](JobId other) { return job_tracker_.Alive(other, open.now); });
  const OpenClass kind = seen.outcome.open;
  seen.fresh = kind == OpenClass::kFresh;
  rereads_ += seen.fresh ? 0 : 1;
  if (kind == OpenClass::kForeignJob) {
    suspicion_->OnForeignJob(open.name.value(),
                             detector_->seen(open.name.value()));
  } else if (kind != OpenClass::kDouble && kind != OpenClass::kBefore) {
    suspicion_->OnOpen(SplitSuspicion::Open{
        open.name.value(), open.group.value(), open.reader, seen.fresh});
  }
  if (seen.outcome.verdict != Verdict::kNone) {
    seen.suspicion = SuspicionAfter(seen.outcome);
  }
  return seen;
}

Suspicion OpenTracker::Signal() {
  if (detector_ == nullptr) return Suspicion::kNone;
  const EpochOutcome outcome = detector_->OnSignal();
  if (outcome.verdict == Verdict::kNone) return Suspicion::kNone;
  const Suspicion suspicion = suspicion_->AtBoundary(
      outcome.rule, outcome.ended_seen, detector_->seen_count());
  // Users end passes that they broke off.
  return suspicion == Suspicion::kUnopened ? Suspicion::kNone : suspicion;
}

void OpenTracker::ForgetLookups() {
  lookups_ = std::make_shared<EpochLookups>(*lookups_);
  listed_ = false;
  bound_anew_ = true;
  shown_from_.reset();
  first_open_.reset();
  readers_.clear();
  counted_.reset();  // an open that never came again
}

void OpenTracker::BeginEpoch() {
  ForgetLookups();
  opened_.ClearAll();
  opened_count_ = 0;
  unknown_ = 0;
  rereads_ = 0;
}

void OpenTracker::BeginPass(const std::vector<uint64_t>& opened) {
  opened_.ClearAll();
  opened_count_ = 0;
  unknown_ = 0;
  rereads_ = 0;
  std::vector<uint64_t> names;
  for (const uint64_t name : opened) {
    if (name < options_.samples) names.push_back(name);
  }
  Restore({std::move(names)});
}

void OpenTracker::Restore(const Past& past) {
  if (detector_ == nullptr) {
    const auto add = [&](uint64_t name) {
      opened_count_ += opened_.Set(name) ? 1 : 0;
    };
    for (const uint64_t name : past.opened) add(name);
    for (const Past::Open& open : past.last) add(open.name);
    return;
  }
  detector_->Restore(
      {past.opened, past.stray, past.began_unexplained, past.owner_unknown});
  for (const Past::Open& open : past.last) {
    detector_->Replay(open.name, open.kind);
  }
}

void OpenTracker::GoOn(const Past& past) {
  Restore(past);
  if (suspicion_ != nullptr) suspicion_->Resume();
}

void OpenTracker::Resume(const std::vector<uint64_t>& names, uint64_t unknown,
                         const std::vector<uint64_t>& due) {
  unknown_ = unknown;
  if (detector_ == nullptr) return Restore({.opened = names});
  MakeDetector();
  detector_->Resume(names, unknown, due);
  suspicion_->Resume();
  if (shown_from_) shown_from_ = detector_->position();
}

void OpenTracker::ResumeHere(const std::vector<uint64_t>& names,
                             absl::optional<uint64_t> read) {
  const std::vector<uint64_t> opened = OpenedEver();
  const bool was_ahead = read && consumed() > *read;
  std::vector<uint64_t> due;
  if (was_ahead && names.size() >= *read) {
    const absl::flat_hash_set<uint64_t> known(names.begin(), names.end());
    std::copy_if(opened.begin(), opened.end(), std::back_inserter(due),
                 [&](uint64_t name) { return !known.contains(name); });
  }
  const bool is_known = !was_ahead || !due.empty();
  if (detector_ == nullptr) return Resume(opened, unknown_before());
  const std::vector<uint64_t> recent = detector_->Recent();
  Resume(opened, unknown_before(), due);
  detector_->KeepRecent(recent);
  if (!is_known) detector_->DoubtStart();
}

uint64_t OpenTracker::consumed() const {
  if (detector_ != nullptr) return detector_->opened_count();
  return std::min(opened_count_ + unknown_, options_.samples);
}

std::vector<uint64_t> OpenTracker::OpenedBefore() const {
  std::vector<uint64_t> names;
  const auto add = [&](uint64_t name) { names.push_back(name); };
  if (detector_ != nullptr) {
    detector_->ForEachSeen(add);
  } else {
    opened_.ForEach(add);
  }
  return names;
}

std::vector<uint64_t> OpenTracker::OpenedEver() const {
  std::vector<uint64_t> names = OpenedBefore();
  if (detector_ == nullptr) return names;
  detector_->ForEachResumed([&](uint64_t name) { names.push_back(name); });
  return names;
}

}  // namespace shufflefs
