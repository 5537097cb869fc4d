// SPDX-License-Identifier: Apache-2.0
// What a view writes to its ledger, and how it goes on from there and from one
// epoch to the next.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/ledger/served_counts.h"
#include "core/view/view.h"

namespace shufflefs {
namespace {

using MakeCarried =
    absl::StatusOr<CarriedNames> (*)(std::vector<CarriedPair> pairs);

// Opens of an epoch that consumed nothing are recorded up to here: a name that
// is opened all day must not fill the disk.
constexpr uint64_t kMostAgain = 1 << 16;

OpenClass ClassOf(LedgerOpen::Kind kind) {
  switch (kind) {
    case LedgerOpen::Kind::kFirst:
      return OpenClass::kFresh;
    case LedgerOpen::Kind::kAgain:
      return OpenClass::kReopen;
    case LedgerOpen::Kind::kDouble:
      return OpenClass::kDouble;
  }
  return OpenClass::kDouble;
}

// What differs, as "policy lirs to window, seed 0 to 6".
std::string SwitchText(const ViewSetup& from, const ViewSetup& to) {
  std::vector<std::string> changes;
  if (from.policy->name() != to.policy->name()) {
    changes.push_back(absl::StrCat("policy ", from.policy->name(), " to ",
                                   to.policy->name()));
  }
  if (from.config.seed != to.config.seed) {
    changes.push_back(absl::StrCat("seed ", from.config.seed.value(), " to ",
                                   to.config.seed.value()));
  }
  if (OptionsHash(from.config) != OptionsHash(to.config)) {
    changes.push_back("keys of the policies");
  }
  if (changes.empty()) return "other keys";
  return absl::StrJoin(changes, ", ");
}

}  // namespace

void View::NoteBegun(const ViewSetup* before) {
  noted_again_ = 0;
  // It tells what was shown before the epoch.
  const LedgerEpoch record = LedgerRecord();
  const std::vector<CarriedPair> seen = Seen();
  if (ledger_ == nullptr) return;
  Note(ledger_->BeginEpoch(record, seen));
  if (before == nullptr) return;
  Note(ledger_->Switch(LedgerSwitch{static_cast<uint8_t>(id_), epoch_,
                                    SwitchText(*before, *setup_)}));
}

void View::NoteShown(const CarriedPair& pair) {
  if (binding_->bound_names() != nullptr) shown_.Add(pair);
}

void View::NoteConsumed(SampleId name) {
  if (binding_->repeats()) binding_->bound_names()->Opened(name);
  const SampleId sample = binding_->ShownSample(name);
  NoteShown({name.value(), sample.value()});
  if (ledger_ == nullptr) return;
  const uint8_t view = static_cast<uint8_t>(id_);
  if (binding_->bound_names() == nullptr) {
    Note(ledger_->Consumed(view, sample.value()));
  } else {
    Note(ledger_->ConsumedUnder(view, name.value(), sample.value()));
  }
}

void View::Note(const absl::Status& done) {
  if (done.ok() || ledger_failed_) return;
  ledger_failed_ = true;  // say it once, not at every open
  Log(LogLevel::kError, absl::StrCat("ledger: ", done.message(),
                                     "; what was consumed is not recorded"));
}

// The opens that showed the new epoch had begun belong to it.
std::vector<CarriedPair> View::Seen() {
  shown_ = {};
  std::vector<CarriedPair> seen;
  if (watch_ == nullptr) return seen;
  for (const uint64_t name : watch_->OpenedBefore()) {
    if (binding_->repeats()) {
      // One that is sent back shows what it is bound to now.
      binding_->bound_names()->Bind(SampleId(name));
      binding_->bound_names()->Opened(SampleId(name));
    }
    seen.push_back({name, binding_->ShownSample(SampleId(name)).value()});
    NoteShown(seen.back());
  }
  return seen;
}

void View::NoteAgain(SampleId name, const EpochOutcome& outcome) {
  const bool evidence = outcome.open == OpenClass::kReopen ||
                        outcome.open == OpenClass::kStray;
  // A second open by the same call is carried with the first.
  const bool told =
      evidence || (outcome.open == OpenClass::kDouble && !outcome.repeat);
  if (ledger_ == nullptr || !told || noted_again_ == kMostAgain) return;
  LedgerOpens opens;
  opens.opens.push_back({evidence ? LedgerOpen::Kind::kAgain
                                  : LedgerOpen::Kind::kDouble,
                         name.value()});
  // Who goes on from here does not know what else was opened.
  if (++noted_again_ == kMostAgain) opens.untold = kMaxLedgerNames;
  Note(ledger_->Opened(static_cast<uint8_t>(id_), opens));
}

LedgerEpoch View::LedgerRecord() const {
  LedgerEpoch record;
  record.view = static_cast<uint8_t>(id_);
  record.view_path = setup_->config.path;
  record.names = setup_->dataset->grouping().sample_count();
  record.fingerprint = setup_->dataset->catalogue().samples_fingerprint();
  record.epoch = epoch_;
  record.binding = binding_->epoch();
  record.seed = setup_->config.seed;
  const absl::string_view policy = setup_->policy->name();
  record.policy.assign(policy.data(), policy.size());
  record.options_hash = OptionsHash(setup_->config);
  record.substitute = setup_->config.substitute;
  record.identity = binding_->identity();
  record.moves = setup_->rebinds() || records_ != nullptr;
  record.reactive = binding_->bound_names() != nullptr;
  record.repeats = binding_->repeats();
  if (record.repeats) record.served = binding_->bound_names()->Served();
  record.carried = binding_->carried().pairs();
  return record;
}

CarriedNames View::Carry(std::vector<CarriedPair>& pairs, bool repeats) {
  // What showed a sample twice was another policy's.
  if (!repeats) pairs = CarriedNames::FirstOfEach(std::move(pairs));
  absl::StatusOr<CarriedNames> carried =
      repeats ? CarriedNames::MakeRepeating(pairs) : CarriedNames::Make(pairs);
  if (carried.ok()) return *std::move(carried);
  // Cannot be: each name once is carried.
  Log(LogLevel::kError, absl::StrCat("epoch: ", carried.status().message()));
  pairs.clear();
  return CarriedNames();
}

void View::KeepServed(const ViewSetup& before) {
  if (before.supply == setup_->supply || !before.repeats()) return;
  served_ = before.supply->ServedNow();
}

void View::GiveServed() {
  if (served_.empty()) return;
  Note(setup_->supply->TakeServed(std::exchange(served_, "")));
}

void View::TakeServed(const LedgerState& last, bool ended) {
  const LedgerEpoch& then = last.begin;
  if (!then.repeats || then.served.empty() || setup_->supply == nullptr ||
      !setup_->supply->repeats() ||
      then.fingerprint != setup_->dataset->catalogue().samples_fingerprint()) {
    return;
  }
  const uint64_t samples = setup_->dataset->grouping().sample_count();
  absl::StatusOr<std::vector<uint32_t>> counts =
      UnpackCounts(then.served, samples);
  if (!counts.ok() || then.names != samples) return;
  if (ended) {
    const uint64_t unread = last.bound.size() - last.bound_consumed;
    for (uint64_t i = unread; i < last.bound.size(); ++i) {
      ++(*counts)[last.bound[i].sample];
    }
  }
  Note(setup_->supply->TakeServed(PackCounts(*counts)));
}

bool View::Resume(LedgerState& last) {
  TakeServed(last, /*ended=*/false);
  if (GoOn(last)) return true;
  TakeServed(last, /*ended=*/true);
  return false;
}

bool View::GoOn(LedgerState& last) {
  // What the configuration asks for now, in the shape of a record; the epoch
  // goes on only if it would bind the same names to the same samples.
  const LedgerEpoch& then = last.begin;
  const absl::string_view policy = setup_->policy->name();
  if (then.fingerprint != setup_->dataset->catalogue().samples_fingerprint() ||
      then.names != setup_->dataset->grouping().sample_count() ||
      then.seed != setup_->config.seed ||
      absl::string_view(then.policy) != policy ||
      then.options_hash != OptionsHash(setup_->config) ||
      then.substitute != setup_->config.substitute ||
      then.reactive != (setup_->binds_on_demand() && !then.identity)) {
    return false;
  }
  const auto make = then.repeats ? CarriedNames::MakeRepeating
                                 : static_cast<MakeCarried>(CarriedNames::Make);
  absl::StatusOr<CarriedNames> carried = make(then.carried);
  if (!carried.ok() || !make(last.bound).ok()) return false;
  Bind(then.binding, *std::move(carried), then.identity, last.bound);
  epoch_ = then.epoch;
  waiting_ = false;
  shown_ = {};
  const uint64_t unshown = last.bound.size() - last.bound_consumed;
  for (uint64_t i = unshown; i < last.bound.size(); ++i) {
    NoteShown(last.bound[i]);
  }
  // Whether something was read is not known without opens: in doubt it was,
  // and a switch waits for the boundary.
  read_ = ever_read_ = !counts_opens() || last.consumed.size() > 0;
  MakeWatch();
  if (watch_ != nullptr) {
    watch_->Restore(PastOf(last));
    watch_->ContinueOther();
  }
  last.begin.view = static_cast<uint8_t>(id_);  // the views' order may be new
  Note(ledger_->Continue(last));
  Publish();
  return true;
}

EpochWatch::Past View::PastOf(const LedgerState& last) {
  const Binding& binding = *binding_;
  const LedgerEpoch& then = last.begin;
  const auto name_of = [&](uint64_t sample) {
    return binding.NameOfSample(SampleId(sample)).value();
  };
  EpochWatch::Past past;
  past.began_unexplained = then.unexplained;
  past.stray = last.recent.untold;
  absl::flat_hash_set<uint64_t> replayed;
  noted_again_ = std::min(last.recent.untold, kMostAgain);
  for (const LedgerOpen& open : last.recent.opens) {
    const bool first = open.kind == LedgerOpen::Kind::kFirst;
    const uint64_t name =
        first && !then.reactive ? name_of(open.number) : open.number;
    past.last.push_back({name, ClassOf(open.kind)});
    if (first) replayed.insert(name);
    if (!first && noted_again_ < kMostAgain) ++noted_again_;
  }
  const auto add = [&](uint64_t name) {
    if (!replayed.contains(name)) past.opened.push_back(name);
  };
  if (!then.repeats) {
    last.consumed.ForEach([&](uint64_t sample) { add(name_of(sample)); });
    return past;
  }
  const uint64_t unread = last.bound.size() - last.bound_consumed;
  for (uint64_t i = unread; i < last.bound.size(); ++i) add(last.bound[i].name);
  return past;
}

}  // namespace shufflefs
