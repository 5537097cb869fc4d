// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/unique_fd.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/ledger/ledger_pairs.h"
#include "core/ledger/ledger_reader.h"

namespace shufflefs {
namespace {

// Returns whether nothing was ever written there. Errors: those of
// FilePlace::Open.
absl::StatusOr<bool> AbsentOrEmpty(const FilePlace& place) {
  const absl::StatusOr<UniqueFd> fd = place.Open(O_RDONLY);
  if (ErrnoOf(fd.status()) == ENOENT) return true;
  if (!fd.ok()) return fd.status();
  struct stat st;
  if (::fstat(fd->get(), &st) != 0) return ErrnoStatus(errno, place.path());
  return st.st_size == 0;
}

}  // namespace

Ledger::Ledger(FilePlace place, Options options,
               std::unique_ptr<AppendLog> file)
    : place_(std::move(place)), options_(options), file_(std::move(file)) {}

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(FilePlace place,
                                                     Options options) {
  LedgerHistory history({.epochs = 1});
  uint64_t valid_words = 0;
  bool current = true;
  absl::Status cut;
  ASSIGN_OR_RETURN(const bool fresh, AbsentOrEmpty(place));
  if (!fresh) {
    auto reader = LedgerReader::Open(place);
    if (reader.ok()) {
      cut = (*reader)->Run(history);
      valid_words = (*reader)->valid_words();
      current = (*reader)->current();
    } else {
      cut = reader.status();
    }
    if (!cut.ok() && !absl::IsDataLoss(cut)) return cut;
  }
  // A compaction that was killed left it.
  place.With(".new").Remove().IgnoreError();
  ASSIGN_OR_RETURN(auto file, AppendLog::Open(place, valid_words));
  if (valid_words == 0) {
    RETURN_IF_ERROR(file->Append(ledger_format::Header()));
  }
  auto ledger =
      absl::WrapUnique(new Ledger(std::move(place), options, std::move(file)));
  ledger->cut_ = std::move(cut);
  if (!current) RETURN_IF_ERROR(ledger->Compact());
  MutexLock lock(ledger->mu_);
  ledger->running_ = history.running();
  ledger->last_ = history.TakeLast();
  return ledger;
}

absl::optional<LedgerState> Ledger::TakeLastState(absl::string_view view_path) {
  MutexLock lock(mu_);
  const auto it = last_.find(view_path);
  if (it == last_.end()) return absl::nullopt;
  LedgerState state = std::move(it->second);
  last_.erase(it);
  return state;
}

std::string Ledger::PolicyUnderWay(absl::string_view view_path,
                                   uint64_t fingerprint) const {
  MutexLock lock(mu_);
  const auto it = last_.find(view_path);
  if (it == last_.end()) return "";
  const LedgerState& state = it->second;
  // Of containers it is known which were read, and not when all were.
  const bool in_the_middle =
      !state.containers.empty() ||
      (state.consumed.size() > 0 && state.consumed.size() < state.begin.names);
  if (!in_the_middle || state.begin.fingerprint != fingerprint) return "";
  return state.begin.policy;
}

bool Ledger::GoesOn(absl::string_view view_path) const {
  MutexLock lock(mu_);
  const auto it = last_.find(view_path);
  // A ledger of an older version only says what was consumed.
  return it != last_.end() &&
         (it->second.begin.moves || it->second.consumed.size() > 0);
}

template <typename Record>
absl::Status Ledger::Append(const Record& record, const Seen& seen) {
  if (record.view >= kMaxLedgerViews) {
    return absl::InvalidArgumentError(
        absl::StrCat(place_.path(), ": view ", record.view, " is too many"));
  }
  const uint64_t at = file_->size();
  ASSIGN_OR_RETURN(ledger_format::Words words,
                   ledger_format::Encode(record, at));
  for (const NameBinding& pair : seen.pairs) {
    const uint64_t next = at + words.size();
    if (seen.named) {
      const auto shown = ledger_format::ShownRecord(record.view, pair, next);
      words.insert(words.end(), shown.begin(), shown.end());
    } else {
      words.push_back(
          ledger_format::ConsumedWord(record.view, pair.sample, next));
    }
  }
  return file_->Append(words);
}

absl::Status Ledger::BeginEpoch(const LedgerEpoch& epoch,
                                absl::Span<const NameBinding> seen) {
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(EnsureFile());
    RETURN_IF_ERROR(Append(epoch, {epoch.reactive, seen}));
    Runs(epoch);
  }
  CompactSoon();
  return absl::OkStatus();
}

void Ledger::CompactSoon() {
  MutexLock one_starts(compactor_mu_);
  {
    MutexLock lock(mu_);
    if (compacting_ || file_->size() * 8 <= options_.compact_bytes ||
        file_->size() <= 2 * compacted_words_) {
      return;
    }
    compacting_ = true;
  }
  // The thread of the last compaction has nothing left to do, so this does not
  // wait.
  auto compactor = TryStartThread("ledger", [this](std::stop_token) {
    const absl::Status done = Compact();
    if (!done.ok()) {
      Log(LogLevel::kWarning, absl::StrCat("ledger: it cannot be compacted "
                                           "and goes on growing: ",
                                           done.message()));
    }
    MutexLock lock(mu_);
    compacting_ = false;
  });
  if (compactor) {
    compactor_ = *std::move(compactor);
    return;
  }
  MutexLock lock(mu_);
  compacting_ = false;  // the next epoch tries again
}

absl::Status Ledger::Continue(const LedgerState& state) {
  if (state.begin.view >= kMaxLedgerViews) {
    return absl::InvalidArgumentError(absl::StrCat(
        place_.path(), ": view ", state.begin.view, " is too many"));
  }
  {
    MutexLock lock(mu_);
    const auto it = running_.find(state.begin.view);
    if (it != running_.end() && it->second == state.begin.view_path) {
      return absl::OkStatus();
    }
  }
  LedgerPass pass(state);
  pass.begin.continues = true;
  MutexLock lock(mu_);
  RETURN_IF_ERROR(EnsureFile());
  RETURN_IF_ERROR(AppendPass(*file_, pass));
  Runs(state.begin);
  return absl::OkStatus();
}

absl::Status Ledger::Adopt(const LedgerPass& pass) {
  if (pass.begin.view >= kMaxLedgerViews) {
    return absl::InvalidArgumentError(absl::StrCat(
        place_.path(), ": view ", pass.begin.view, " is too many"));
  }
  MutexLock lock(mu_);
  RETURN_IF_ERROR(EnsureFile());
  RETURN_IF_ERROR(AppendPass(*file_, pass));
  Runs(pass.begin);
  return absl::OkStatus();
}

absl::optional<LedgerState> Ledger::Find(
    absl::string_view view_path,
    absl::FunctionRef<bool(const LedgerPass&)> fits) const {
  const auto reader = LedgerReader::Open(place_);
  if (!reader.ok()) return absl::nullopt;
  LedgerHistory history(options_.keep);
  if (!(*reader)->Run(history).ok()) return absl::nullopt;
  return history.Find(view_path, fits);
}

void Ledger::Runs(const LedgerEpoch& epoch) {
  absl::erase_if(running_, [&](const auto& view) {
    return view.second == epoch.view_path;
  });
  running_[epoch.view] = epoch.view_path;
}

absl::Status Ledger::EnsureFile() {
  const absl::Status start = file_->CheckStart();
  if (!absl::IsDataLoss(start)) return start;
  ASSIGN_OR_RETURN(auto fresh, AppendLog::Open(place_, 0));
  RETURN_IF_ERROR(fresh->Append(ledger_format::Header()));
  file_ = std::move(fresh);
  ++taken_away_;
  compacted_words_ = 0;
  running_.clear();
  Log(LogLevel::kError,
      absl::StrCat("ledger: ", start.message(),
                   "; a new one begins, without earlier epochs"));
  return absl::OkStatus();
}

absl::Status Ledger::CheckRuns(uint8_t view) const {
  return running_.contains(view) ? absl::OkStatus() : TakenAway();
}

absl::Status Ledger::TakenAway() const {
  return absl::DataLossError(
      absl::StrCat(place_.path(), ": somebody emptied it while it was in use"));
}

absl::Status Ledger::CheckFile(uint8_t view) const {
  RETURN_IF_ERROR(file_->CheckStart());
  return CheckRuns(view);
}

absl::Status Ledger::CheckBeginning(uint8_t view) const {
  MutexLock lock(mu_);
  return CheckFile(view);
}

absl::Status Ledger::Consumed(uint8_t view, uint64_t sample) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckRuns(view));
  return file_->Append(
      ledger_format::ConsumedWord(view, sample, file_->size()));
}

absl::Status Ledger::ConsumedUnder(uint8_t view, uint64_t name,
                                   uint64_t sample) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckRuns(view));
  return file_->Append(
      ledger_format::ShownRecord(view, {name, sample}, file_->size()));
}

absl::Status Ledger::Bound(uint8_t view, const PackedPairs& pairs) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckRuns(view));
  ASSIGN_OR_RETURN(
      const ledger_format::Words words,
      ledger_format::EncodePairSet(view, {.pairs = pairs}, file_->size()));
  return file_->Append(words);
}

absl::Status Ledger::Opened(uint8_t view, const LedgerOpens& opens) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckRuns(view));
  ASSIGN_OR_RETURN(const ledger_format::Words words,
                   ledger_format::EncodeOpens(view, opens, file_->size()));
  return file_->Append(words);
}

absl::Status Ledger::ReadWhole(uint8_t view, const LedgerContainers& read) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckRuns(view));
  ASSIGN_OR_RETURN(const ledger_format::Words words,
                   ledger_format::EncodeContainers(view, read, file_->size()));
  return file_->Append(words);
}

absl::Status Ledger::Hold(const LedgerHold& hold, bool named,
                          absl::Span<const NameBinding> seen) {
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckFile(hold.view));
    RETURN_IF_ERROR(Append(hold, {named, seen}));
  }
  CompactSoon();
  return absl::OkStatus();
}

absl::Status Ledger::Hold(const LedgerHold& hold, const LedgerPass& pass) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckFile(hold.view));
  return AppendPass(*file_, hold, pass);
}

absl::Status Ledger::Switch(const LedgerSwitch& change) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckFile(change.view));
  return Append(change);
}

absl::Status Ledger::Rest(const LedgerPass& pass) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckFile(pass.begin.view));
  return AppendRest(*file_, pass);
}

absl::Status Ledger::Compact() {
  MutexLock one_at_a_time(compact_mu_);
  const absl::Status done = CompactNow();
  MutexLock lock(mu_);
  compacted_words_ = file_->size();
  return done;
}

absl::Status Ledger::CompactNow() {
  const FilePlace beside = place_.With(".new");
  RETURN_IF_ERROR(beside.Remove());  // left by a crash
  const absl::Status done = CompactInto(beside);
  // What was written of it takes space that the ledger may need.
  if (!done.ok()) beside.Remove().IgnoreError();
  return done;
}

absl::Status Ledger::CompactInto(const FilePlace& beside) {
  uint64_t settled, taken_away;
  {
    MutexLock lock(mu_);
    settled = file_->size();
    taken_away = taken_away_;
  }
  ASSIGN_OR_RETURN(const auto reader, LedgerReader::Open(place_));
  LedgerHistory history(options_.keep);
  RETURN_IF_ERROR(reader->Run(history, settled));
  ASSIGN_OR_RETURN(auto fresh, AppendLog::Open(beside, 0));
  RETURN_IF_ERROR(fresh->Append(ledger_format::Header()));
  RETURN_IF_ERROR(history.WriteTo(*fresh));
  RETURN_IF_ERROR(fresh->Sync());

  // Frees the space of the old file when the lock is released.
  std::unique_ptr<AppendLog> replaced;
  MutexLock lock(mu_);
  LedgerCopier copier(*fresh);
  RETURN_IF_ERROR(reader->Run(copier, file_->size()));
  RETURN_IF_ERROR(copier.Finish());
  // Perhaps somebody took the file away meanwhile.
  RETURN_IF_ERROR(file_->CheckStart());
  if (taken_away_ != taken_away) return TakenAway();
  RETURN_IF_ERROR(fresh->Rename(place_));
  replaced = std::exchange(file_, std::move(fresh));
  return absl::OkStatus();
}

uint64_t Ledger::bytes() const {
  MutexLock lock(mu_);
  return file_->size() * 8;
}

}  // namespace shufflefs
