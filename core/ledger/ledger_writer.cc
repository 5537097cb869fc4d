// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_writer.h"

#include <errno.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

void Add(absl::Span<const CarriedPair> consumed, bool named, LedgerPass& pass) {
  for (const CarriedPair& pair : consumed) {
    if (named) {
      pass.ConsumedUnder(pair);
    } else {
      pass.Consumed(pair.sample);
    }
  }
}

LedgerTally TallyOf(absl::Span<const CarriedPair> consumed, bool named) {
  LedgerTally tally;
  for (const CarriedPair& pair : consumed) {
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

}  // namespace

void LedgerWriter::Late::Lose(const Late& before) {
  if (!hold) return;  // it says by itself how its names are bound
  LedgerPass whole = before.pass.Held(*hold);
  pass.Bound(whole.held);
  if (before.IsPart()) return;
  // The ledger has no beginning of what is held. So it begins here.
  pass.begin = std::move(whole.begin);
  pass.begin.continues = false;
  hold.reset();
}

void LedgerWriter::Close() {
  MutexLock lock(mu_);
  if (late_ && ledger_ != nullptr) CatchUp();
  ledger_ = nullptr;
}

absl::optional<LedgerState> LedgerWriter::TakeLast(
    absl::string_view view_path) {
  MutexLock lock(mu_);
  return ledger_ == nullptr ? absl::nullopt : ledger_->TakeLastState(view_path);
}

void LedgerWriter::BeginEpoch(const LedgerEpoch& epoch,
                              absl::Span<const CarriedPair> seen) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  EndPass();
  begin_ = BriefOf(epoch);
  tally_ = TallyOf(seen, epoch.reactive);
  absl::Status done = Behind();
  if (done.ok()) done = ledger_->BeginEpoch(epoch, seen);
  if (done.ok()) return;
  FallBehind(LedgerPass(epoch), /*begun=*/false, done);
  Add(seen, epoch.reactive, late_->pass);
}

void LedgerWriter::Hold(const LedgerHold& hold, bool named,
                        absl::Span<const CarriedPair> seen) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  EndPass();
  begin_.epoch = hold.epoch;
  tally_ = TallyOf(seen, named);
  absl::Status done = Behind();
  if (done.ok()) done = ledger_->Hold(hold, named, seen);
  if (done.ok()) return;
  FallBehind(LedgerPass(begin_), /*begun=*/false, done);
  late_->hold = hold;
  Add(seen, named, late_->pass);
}

void LedgerWriter::Switch(const LedgerSwitch& change) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  if (!KeepsUp() || !Took(ledger_->Switch(change))) late_->change = change;
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
  EndPass();
  const absl::Status done = Behind();
  GoOn(done.ok() ? ledger_->Adopt(state) : done, LedgerPass(state));
}

void LedgerWriter::GoOn(const absl::Status& done, LedgerPass pass) {
  begin_ = BriefOf(pass.begin);
  tally_ = pass.tally;
  if (!done.ok()) FallBehind(std::move(pass), /*begun=*/false, done);
}

void LedgerWriter::Consumed(uint64_t sample) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  if (KeepsUp() && Took(ledger_->Consumed(view_, sample))) {
    tally_.Consumed(sample);
  } else {
    late_->pass.Consumed(sample);
  }
}

void LedgerWriter::ConsumedUnder(const CarriedPair& pair) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  if (KeepsUp() &&
      Took(ledger_->ConsumedUnder(view_, pair.name, pair.sample))) {
    tally_.Consumed(pair.name);
  } else {
    late_->pass.ConsumedUnder(pair);
  }
}

void LedgerWriter::Opened(const LedgerOpens& opens) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr) return;
  if (KeepsUp() && Took(ledger_->Opened(view_, opens))) {
    tally_.recent.Add(opens);
  } else {
    late_->pass.Opened(opens);
  }
}

uint64_t LedgerWriter::AnnounceReaders() {
  MutexLock lock(mu_);
  return ++readers_;
}

void LedgerWriter::ReadWhole(uint64_t readers, const LedgerContainers& read) {
  MutexLock lock(mu_);
  if (ledger_ == nullptr || readers != readers_) return;
  if (!KeepsUp() || !Took(ledger_->ReadWhole(view_, read))) {
    late_->pass.ReadWhole(read);
  }
}

std::string LedgerWriter::Warning() const {
  MutexLock lock(mu_);
  if (!late_) return "";
  return absl::StrCat("ledger: ", late_->why.message(), "; ",
                      late_->begun ? "what was read since" : "this epoch",
                      " is kept in memory only, and is lost if the daemon ends",
                      IsFull(late_->why) ? "; free some space" : "");
}

bool LedgerWriter::KeepsUp() {
  if (late_ &&
      std::chrono::steady_clock::now() - late_->tried >= retry_after_) {
    CatchUp();
  }
  return !late_;
}

bool LedgerWriter::Took(const absl::Status& done) {
  if (!done.ok()) FallBehind(LedgerPass(begin_, tally_), /*begun=*/true, done);
  return done.ok();
}

void LedgerWriter::EndPass() {
  if (late_) CatchUp();
  if (!late_) return;
  late_->pass.Trim();
  ended_.push_back(*std::move(late_));
  late_.reset();
  while (KeepsTooMuch()) {
    const Late lost = std::move(ended_.front());
    ended_.pop_front();
    ended_.front().Lose(lost);
    lost_ = true;
  }
}

bool LedgerWriter::KeepsTooMuch() const {
  // A hold that follows must know what names the last one showed.
  if (ended_.size() <= 1) return false;
  uint64_t bytes = 0;
  for (const Late& late : ended_) bytes += late.pass.memory_bytes();
  return ended_.size() > kMostEnded || bytes > most_ended_bytes_;
}

absl::Status LedgerWriter::Behind() const {
  return ended_.empty() ? absl::OkStatus() : ended_.back().why;
}

void LedgerWriter::FallBehind(LedgerPass pass, bool begun,
                              const absl::Status& done) {
  if (ended_.empty() && !late_) {
    Log(LogLevel::kError,
        absl::StrCat("ledger: ", done.message(), "; ",
                     begun ? "what is read in " : "", "epoch ",
                     begin_.epoch.value(),
                     " is kept in memory until it can be recorded"));
  }
  late_.emplace(std::move(pass), begun, done);
}

void LedgerWriter::CatchUp() {
  absl::Status done;
  while (done.ok() && !ended_.empty()) {
    done = Append(ended_.front());
    if (done.ok()) ended_.pop_front();
  }
  if (done.ok()) done = Append(*late_);
  if (!done.ok()) {
    late_->why = done;
    late_->tried = std::chrono::steady_clock::now();
    return;
  }
  tally_ = std::move(late_->pass.tally);
  late_.reset();
  Log(LogLevel::kInfo,
      absl::StrCat("ledger: epoch ", begin_.epoch.value(), " is recorded",
                   lost_ ? "; something before it is missing" : ""));
  lost_ = false;
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
