// SPDX-License-Identifier: Apache-2.0
// What a view writes to its ledger, and how it goes on from there and from one
// epoch to the next.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/log.h"
#include "core/served_counts.h"
#include "core/view.h"

namespace shufflefs {
namespace {

using MakeCarried =
    absl::StatusOr<CarriedNames> (*)(std::vector<CarriedPair> pairs);

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
  if (ledger_ == nullptr) return;
  Note(ledger_->BeginEpoch(LedgerRecord()));
  if (before == nullptr) return;
  Note(ledger_->Switch(LedgerSwitch{static_cast<uint8_t>(id_), epoch_,
                                    SwitchText(*before, *setup_)}));
}

void View::NoteConsumed(SampleId name) {
  if (binding_->repeats()) binding_->supply()->Opened(name);
  if (ledger_ == nullptr) return;
  const SampleId sample = binding_->ShownSample(name);
  const uint8_t view = static_cast<uint8_t>(id_);
  if (binding_->supply() == nullptr) {
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
void View::NoteSeen() {
  if (watch_ == nullptr) return;
  for (const uint64_t name : watch_->OpenedBefore()) {
    // One that is sent back shows what it is bound to now.
    if (binding_->repeats()) binding_->supply()->Bind(SampleId(name));
    NoteConsumed(SampleId(name));
  }
}

LedgerEpoch View::LedgerRecord() const {
  LedgerEpoch record;
  record.view = static_cast<uint8_t>(id_);
  record.view_path = setup_->config.path;
  record.names = setup_->dataset->grouping().sample_count();
  record.fingerprint = setup_->dataset->catalogue().fingerprint();
  record.epoch = epoch_;
  record.binding = binding_->epoch();
  record.seed = setup_->config.seed;
  const absl::string_view policy = setup_->policy->name();
  record.policy.assign(policy.data(), policy.size());
  record.options_hash = OptionsHash(setup_->config);
  record.substitute = setup_->config.substitute;
  record.identity = binding_->identity();
  record.reactive = binding_->supply() != nullptr;
  record.repeats = binding_->repeats();
  if (record.repeats) record.served = binding_->supply()->Served();
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
      then.fingerprint != setup_->dataset->catalogue().fingerprint()) {
    return;
  }
  absl::StatusOr<std::vector<uint32_t>> counts = UnpackCounts(then.served);
  if (!counts.ok() || counts->size() != then.names) return;
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
  if (then.fingerprint != setup_->dataset->catalogue().fingerprint() ||
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
  // Whether something was read is not known without opens: in doubt it was,
  // and a switch waits for the boundary.
  read_ = ever_read_ = !counts_opens() || last.consumed.size() > 0;
  MakeWatch();
  if (watch_ != nullptr) {
    std::vector<uint64_t> names;
    const Binding& binding = *binding_;
    if (then.repeats) {
      const uint64_t unread = last.bound.size() - last.bound_consumed;
      for (uint64_t i = unread; i < last.bound.size(); ++i) {
        names.push_back(last.bound[i].name);
      }
    } else {
      last.consumed.ForEach([&](uint64_t sample) {
        names.push_back(binding.NameOfSample(SampleId(sample)).value());
      });
    }
    watch_->Restore(names);
  }
  last.begin.view = static_cast<uint8_t>(id_);  // the views' order may be new
  Note(ledger_->Continue(last));
  return true;
}

}  // namespace shufflefs
