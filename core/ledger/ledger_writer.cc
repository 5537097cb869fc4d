// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_writer.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/ledger/ledger_pairs.h"

namespace shufflefs {
namespace {

void Add(absl::Span<const NameBinding> consumed, bool named, LedgerPass& pass) {
  for (const NameBinding& pair : consumed) {
    if (named) {
      pass.ConsumedUnder(pair);
    } else {
      pass.Consumed(pair.sample);
    }
  }
}

LedgerTally TallyOf(absl::Span<const NameBinding> consumed, bool named) {
  LedgerTally tally;
  for (const NameBinding& pair : consumed) {
    tally.Consumed(named ? pair.name : pair.sample);
  }
  return tally;
}

// What the records of a pass need of its beginning.
LedgerEpoch BriefOf(const LedgerEpoch& epoch) {
  LedgerEpoch brief;
  brief.view = epoch.view;
  brief.names = epoch.names;
  brief.epoch = epoch.epoch;
  brief.binding = epoch.binding;
  return brief;
}

bool IsFull(const absl::Status& status) {
  const int error = ErrnoOf(status).value_or(0);
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

constexpr char kNotRecorded[] =
    "nothing is recorded until names are bound anew";

}  // namespace

void LedgerWriter::Late::Lose(const Late& before) {
  // If only the end of a pass is lost, this one follows it all the same.
  const bool follows = before.begun && !before.pass.forgets_again;
  if (!hold && !follows) pass.begin.apart = true;
  if (!hold) return;  // it says by itself how its names are bound
  LedgerPass whole = before.pass.Held(*hold);
  pass.Bound(whole.held);
  pass.by_hand |= whole.begin.by_hand;
  if (before.IsPart()) return;
  // The ledger has no beginning of what is held. So it begins here.
  pass.begin = std::move(whole.begin);
  pass.begin.continues = false;
  pass.begin.apart = true;
  hold.reset();
}

void LedgerWriter::Close() {
  MutexLock lock(mu_);
  if (late_ && ledger_ != nullptr) CatchUp(/*all=*/true);
  ledger_ = nullptr;
}

absl::optional<LedgerState> LedgerWriter::TakeLast(
    absl::string_view view_path) {
  MutexLock lock(mu_);
  return ledger_ == nullptr ? absl::nullopt : ledger_->TakeLastState(view_path);
}

void LedgerWriter::BeginEpoch(const LedgerEpoch& epoch,
                              absl::Span<const NameBinding> seen) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  EndPasses();
  begin_ = BriefOf(epoch);
  tally_ = TallyOf(seen, epoch.reactive);
  absl::Status done = Behind();
  if (done.ok()) done = ledger_->BeginEpoch(epoch, seen);
  if (done.ok()) return;
  FallBehind(LedgerPass(epoch), /*begun=*/false, done);
  Add(seen, epoch.reactive, late_->pass);
}

void LedgerWriter::Hold(const LedgerHold& hold, bool named,
                        absl::Span<const NameBinding> seen) {
  MutexLock lock(mu_);
  if (!Records()) return;
  EndPass();
  begin_.epoch = hold.epoch;
  tally_ = TallyOf(seen, named);
  absl::Status done = Behind();
  if (done.ok()) done = ledger_->Hold(hold, named, seen);
  if (done.ok()) return;
  if (absl::IsDataLoss(done)) return LoseRunning(done);
  FallBehind(LedgerPass(begin_), /*begun=*/false, done);
  late_->hold = hold;
  Add(seen, named, late_->pass);
}

void LedgerWriter::Switch(const LedgerSwitch& change) {
  MutexLock lock(mu_);
  if (!Records()) return;
  if (KeepsUp() && Took(ledger_->Switch(change))) return;
  if (late_) late_->change = change;
}

void LedgerWriter::Continue(const LedgerState& state) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  LedgerPass pass(state);
  pass.begin.continues = true;
  const absl::Status done = Behind();
  GoOn(done.ok() ? ledger_->Continue(state) : done, std::move(pass));
}

void LedgerWriter::Adopt(const LedgerState& state) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  EndPasses();
  LedgerPass pass = LedgerPass::Apart(state);
  absl::Status done = Behind();
  if (done.ok()) done = ledger_->Adopt(pass);
  GoOn(done, std::move(pass));
}

void LedgerWriter::GoOn(const absl::Status& done, LedgerPass pass) {
  begin_ = BriefOf(pass.begin);
  tally_ = pass.tally;
  if (!done.ok()) FallBehind(std::move(pass), /*begun=*/false, done);
}

void LedgerWriter::Consumed(uint64_t sample) {
  MutexLock lock(mu_);
  if (!Records()) return;
  if (KeepsUp() && Took(ledger_->Consumed(view_, sample))) {
    tally_.Consumed(sample);
  } else if (late_) {
    late_->pass.Consumed(sample);
  }
}

void LedgerWriter::ConsumedUnder(const NameBinding& pair) {
  MutexLock lock(mu_);
  if (!Records()) return;
  if (KeepsUp() &&
      Took(ledger_->ConsumedUnder(view_, pair.name, pair.sample))) {
    tally_.Consumed(pair.name);
  } else if (late_) {
    late_->pass.ConsumedUnder(pair);
  }
}

void LedgerWriter::Bound(const PackedPairs& pairs) {
  constexpr uint64_t kMost = ledger_format::kMaxSetPairs;
  MutexLock lock(mu_);
  for (uint64_t first = 0; first < pairs.size(); first += kMost) {
    const PackedPairs part =
        pairs.Part(first, std::min(kMost, pairs.size() - first));
    if (!Records()) return;
    if (KeepsUp() && Took(ledger_->Bound(view_, part))) continue;
    if (late_) late_->pass.Bound(part);
  }
}

void LedgerWriter::Opened(const LedgerOpens& opens) {
  MutexLock lock(mu_);
  if (!Records()) return;
  if (KeepsUp() && Took(ledger_->Opened(view_, opens))) {
    tally_.recent.Add(opens);
  } else if (late_) {
    late_->pass.Opened(opens);
  }
}

uint64_t LedgerWriter::AnnounceReaders() {
  MutexLock lock(mu_);
  return ++readers_;
}

void LedgerWriter::ReadWhole(uint64_t readers, const LedgerContainers& read) {
  MutexLock lock(mu_);
  if (readers == readers_) Note(read);
}

void LedgerWriter::NoteContainers(const LedgerContainers& read) {
  MutexLock lock(mu_);
  Note(read);
}

void LedgerWriter::Note(const LedgerContainers& read) {
  if (!Records()) return;
  if (KeepsUp() && Took(ledger_->ReadWhole(view_, read))) return;
  if (late_) late_->pass.ReadWhole(read);
}

std::string LedgerWriter::Warning() const {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return "";
  if (late_) {
    return absl::StrCat("ledger: ", why_.message(), "; ", Kept(),
                        " if the daemon ends",
                        IsFull(why_) ? "; free some space" : "");
  }
  const absl::Status gone = gone_.ok() ? ledger_->CheckBeginning(view_) : gone_;
  if (!absl::IsDataLoss(gone)) return "";
  return absl::StrCat("ledger: ", gone.message(), "; ", kNotRecorded);
}

std::string LedgerWriter::Kept() const {
  std::string kept = late_->begun ? "what was read since" : "this epoch";
  if (!ended_.empty()) {
    absl::StrAppend(&kept, " and ", ended_.size(), " before it",
                    ended_.front().begun ? ", the first in part," : "");
  }
  const bool several = !ended_.empty();
  absl::StrAppend(&kept, several ? " are" : " is", " kept in memory only, and ",
                  several ? "are" : "is", " lost");
  if (lost_ == 0) return kept;
  return absl::StrCat(lost_, " before these are lost; ", kept);
}

bool LedgerWriter::Records() const { return ledger_ != nullptr && gone_.ok(); }

bool LedgerWriter::KeepsUp() {
  if (late_ &&
      std::chrono::steady_clock::now() - tried_ >= limits_.retry_after) {
    CatchUp();
  }
  return !late_ && gone_.ok();
}

bool LedgerWriter::Took(const absl::Status& done) {
  if (absl::IsDataLoss(done)) {
    LoseRunning(done);
  } else if (!done.ok()) {
    FallBehind(LedgerPass(begin_, tally_), /*begun=*/true, done);
  }
  return done.ok();
}

void LedgerWriter::LoseRunning(const absl::Status& why) {
  late_.reset();
  gone_ = why;
  Log(LogLevel::kError,
      absl::StrCat("ledger: ", why.message(), "; ", kNotRecorded));
}

void LedgerWriter::EndPasses() {
  EndPass();
  gone_ = absl::OkStatus();
}

void LedgerWriter::EndPass() {
  if (late_) CatchUp();
  if (!late_) return;
  late_->pass.Trim();
  ended_.push_back(*std::move(late_));
  late_.reset();
  // Perhaps only the bound of one call was in the way.
  if (KeepsTooMuch()) AppendEnded(/*all=*/true).IgnoreError();
  while (KeepsTooMuch()) {
    const Late lost = std::move(ended_.front());
    ended_.pop_front();
    ended_.front().Lose(lost);
    ++lost_;
  }
}

bool LedgerWriter::KeepsTooMuch() const {
  // A hold that follows must know what names the last one showed.
  if (ended_.size() <= 1) return false;
  uint64_t bytes = 0;
  for (const Late& late : ended_) bytes += late.pass.memory_bytes();
  return ended_.size() > kMostEnded || bytes > limits_.most_ended_bytes;
}

absl::Status LedgerWriter::Behind() const {
  return ended_.empty() ? absl::OkStatus() : why_;
}

void LedgerWriter::FallBehind(LedgerPass pass, bool begun,
                              const absl::Status& done) {
  if (ended_.empty()) {
    Log(LogLevel::kError,
        absl::StrCat("ledger: ", done.message(), "; ",
                     begun ? "what is read in " : "", "epoch ",
                     begin_.epoch.value(),
                     " is kept in memory until it can be recorded"));
    why_ = done;
    tried_ = std::chrono::steady_clock::now();
  }
  late_.emplace(std::move(pass), begun);
}

void LedgerWriter::CatchUp(bool all) {
  absl::Status done = AppendEnded(all);
  if (done.ok()) done = Append(*late_);
  if (absl::IsDataLoss(done)) return LoseRunning(done);
  if (!done.ok()) {
    why_ = done;
    tried_ = std::chrono::steady_clock::now();
    // If only the bound of one call was in the way, the next call goes on.
    if (absl::IsUnavailable(done) && !ErrnoOf(done))
      tried_ -= limits_.retry_after;
    return;
  }
  tally_ = std::move(late_->pass.tally);
  late_.reset();
  Log(LogLevel::kInfo,
      absl::StrCat("ledger: epoch ", begin_.epoch.value(), " is recorded",
                   lost_ > 0 ? "; something before it is missing" : ""));
  lost_ = 0;
}

absl::Status LedgerWriter::AppendEnded(bool all) {
  uint64_t bytes = 0;
  while (!ended_.empty()) {
    const uint64_t more = ended_.front().pass.memory_bytes();
    const absl::Status done = Append(ended_.front());
    if (!done.ok() && !absl::IsDataLoss(done)) return done;
    ended_.pop_front();
    if (!done.ok()) {
      ++lost_;  // somebody emptied the ledger, which had its beginning
      continue;
    }
    bytes += more;
    if (!all && bytes > limits_.most_at_once) {
      return absl::UnavailableError("it has space again, and catches up");
    }
  }
  return absl::OkStatus();
}

absl::Status LedgerWriter::Append(Late& late) {
  late.pass.Trim();
  RETURN_IF_ERROR(late.begun  ? ledger_->Rest(late.pass)
                  : late.hold ? ledger_->Hold(*late.hold, late.pass)
                              : ledger_->Adopt(late.pass));
  late.pass = LedgerPass(BriefOf(late.pass.begin), std::move(late.pass.tally));
  late.begun = true;
  late.hold.reset();
  if (late.change) RETURN_IF_ERROR(ledger_->Switch(*late.change));
  return absl::OkStatus();
}

}  // namespace shufflefs
