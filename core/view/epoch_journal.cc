// SPDX-License-Identifier: Apache-2.0
#include "core/view/epoch_journal.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/base/log.h"
#include "core/ledger/packed_pairs.h"
#include "core/ledger/served_counts.h"
#include "core/view/live_epoch.h"

namespace shufflefs {
namespace {

// At most so many opens that consume nothing are recorded per epoch. A name
// that is opened all day must not fill the disk.
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

// The differences, such as "policy lirs to window, seed 0 to 6".
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
  if (from.options_hash != to.options_hash) {
    changes.push_back("keys of the policies");
  }
  if (changes.empty()) return "other keys";
  return absl::StrJoin(changes, ", ");
}

LedgerContainers LedgerContainersOf(Epoch binding,
                                    absl::Span<const EntryId> files) {
  LedgerContainers containers;
  containers.binding = binding;
  for (const EntryId file : files) containers.files.push_back(file.value());
  return containers;
}

// `taken`: how often samples were shown before, by a producer.
void LogRefusal(const absl::Status& taken) {
  if (taken.ok()) return;
  Log(LogLevel::kError,
      absl::StrCat("ledger: ", taken.message(), "; samples are counted anew"));
}

// How much of an epoch was read. "" if nothing was, or all.
std::string ReadOf(const LedgerState& state) {
  const uint64_t samples =
      state.begin.reactive ? state.bound_consumed : state.consumed.size();
  if (samples >= state.begin.names && samples > 0) return "";
  if (samples > 0) {
    return absl::StrCat(samples, " of ", state.begin.names, " samples were");
  }
  const size_t containers = state.containers.size();
  if (containers == 0) return "";
  return containers == 1 ? "1 container was"
                         : absl::StrCat(containers, " containers were");
}

// Returns whether `pass` is the token's epoch and was read at least as far.
bool IsOf(const EpochToken& token, const LedgerPass& pass) {
  const LedgerEpoch& then = pass.begin;
  if (then.epoch != token.epoch || then.binding != token.binding ||
      then.seed != token.seed || then.policy != token.policy ||
      then.fingerprint != token.fingerprint ||
      pass.shown.size() < token.position.value_or(0)) {
    return false;
  }
  ShownPairs shown;
  shown.sum = TimesDigest(then.served);
  while (shown.count < *token.position) shown.Add(pass.shown[shown.count]);
  return shown.sum == *token.digest;
}

}  // namespace

EpochJournal::EpochJournal(uint32_t id, Ledger* ledger)
    : id_(static_cast<uint8_t>(id)),
      writer_(std::make_shared<LedgerWriter>(id_, ledger)) {}

EpochJournal::~EpochJournal() {
  if (writer_ != nullptr) writer_->Close();  // null if it was moved
}

RecordNotes EpochJournal::NoterOfContainers(Epoch binding) const {
  RecordNotes notes;
  notes.read_whole = [writer = writer_, readers = writer_->AnnounceReaders(),
                      binding](EntryId container) {
    writer->ReadWhole(readers, LedgerContainersOf(binding, absl::MakeConstSpan(
                                                               &container, 1)));
  };
  notes.goes_on_from = [writer = writer_,
                        binding](absl::Span<const EntryId> whole) {
    LedgerContainers read = LedgerContainersOf(binding, whole);
    read.anew = true;
    writer->NoteContainers(read);
  };
  notes.by_hand = [writer = writer_, binding](uint32_t why) {
    LedgerContainers read = LedgerContainersOf(binding, {});
    read.by_hand = why;
    writer->NoteContainers(read);
  };
  return notes;
}

void EpochJournal::Drop(const LedgerState& last, const ViewSetup& now) {
  const std::string read = ReadOf(last);
  if (read.empty()) return;
  const uint64_t fingerprint = now.dataset->catalogue().samples_fingerprint();
  dropped_ = absl::StrCat(
      "cannot resume epoch ", last.begin.epoch.value(), " (", read, " read): ",
      last.begin.fingerprint == fingerprint ? "the settings" : "the dataset",
      " changed; starting again with epoch ", now.config.epoch_start.value());
  Log(LogLevel::kWarning, dropped_);
}

absl::optional<LedgerState> EpochJournal::TakeLast(const std::string& path) {
  return writer_->TakeLast(path);
}

LedgerEpoch EpochJournal::Record(const ViewSetup& setup, const Binding& binding,
                                 Epoch epoch,
                                 const RecordEpoch* records) const {
  LedgerEpoch record;
  record.view = id_;
  record.view_path = setup.config.path;
  record.names = setup.dataset->grouping().sample_count();
  record.fingerprint = setup.dataset->catalogue().samples_fingerprint();
  record.epoch = epoch;
  record.binding = binding.epoch();
  record.seed = setup.config.seed;
  const absl::string_view policy = setup.policy->name();
  record.policy.assign(policy.data(), policy.size());
  record.options_hash = setup.options_hash;
  record.substitute = setup.config.substitute;
  record.identity = binding.identity();
  record.moves = setup.rebinds() || records != nullptr;
  if (records != nullptr) {
    record.read_before = records->read_before();
    record.by_hand = records->by_hand();
  }
  record.reactive = binding.bound_names() != nullptr;
  record.repeats = binding.repeats();
  if (record.repeats) {
    record.served = binding.bound_names()->Served();
  } else {
    record.served_before = ServedBefore(setup);
  }
  record.retained = binding.retained().pairs();
  return record;
}

void EpochJournal::Begun(const LedgerEpoch& record, const Binding& binding,
                         const OpenTracker* tracker) {
  noted_again_ = 0;
  if (std::exchange(has_begun_, true)) dropped_.clear();
  writer_->BeginEpoch(record, Seen(binding, tracker));
}

void EpochJournal::Switched(Epoch epoch, const ViewSetup& from,
                            const ViewSetup& to) {
  writer_->Switch({id_, epoch, SwitchText(from, to)});
}

void EpochJournal::Held(Epoch epoch, const EpochOutcome& outcome,
                        const Binding& binding, const OpenTracker* tracker) {
  noted_again_ = 0;
  writer_->Hold(
      {id_, epoch, outcome.rule, std::string(HoldReasonName(outcome.reason))},
      binding.bound_names() != nullptr, Seen(binding, tracker));
}

void EpochJournal::OpensAreLate() {
  noted_again_ = kMostAgain;
  LedgerOpens opens;
  opens.untold = kMaxLedgerNames;
  writer_->Opened(opens);
}

void EpochJournal::Resumed(const OpenTracker* tracker) {
  ForgetAgain();
  if (tracker != nullptr) OpensAreLate();
}

void EpochJournal::ForgetAgain() {
  if (noted_again_ == 0) return;
  const bool opens_are_late = noted_again_ == kMostAgain;
  writer_->Opened(ForgottenOpens());
  noted_again_ = 0;
  if (opens_are_late) OpensAreLate();
}

void EpochJournal::NoteShown(const Binding& binding, const NameBinding& pair) {
  if (binding.bound_names() != nullptr) shown_.Add(pair);
}

void EpochJournal::Consumed(const Binding& binding, SampleId name) {
  if (binding.repeats()) binding.bound_names()->Opened(name);
  const NameBinding pair{name.value(), binding.ShownSample(name).value()};
  NoteShown(binding, pair);
  if (binding.bound_names() != nullptr) {
    writer_->ConsumedUnder(pair);
  } else {
    writer_->Consumed(pair.sample);
  }
}

void EpochJournal::Bound(const Binding& binding, SampleId name) {
  const NameBinding pair{name.value(), binding.ShownSample(name).value()};
  PackedPairs pairs(std::max(pair.name, pair.sample) + 1);
  pairs.Add(pair);
  writer_->Bound(pairs);
}

void EpochJournal::BoundSoFar(const Binding& binding) {
  if (binding.bound_names() == nullptr) return;
  const uint64_t names = binding.plan().dataset().grouping().sample_count();
  PackedPairs pairs(names);
  for (const NameBinding& pair :
       BoundPairs(*binding.bound_names(), names, /*most=*/names)) {
    pairs.Add(pair);
  }
  writer_->Bound(pairs);
}

std::string EpochJournal::Warning() const {
  const std::string warning = writer_->Warning();
  return warning.empty() ? dropped_ : warning;
}

// The opens that showed that the new epoch had begun belong to it.
std::vector<NameBinding> EpochJournal::Seen(const Binding& binding,
                                            const OpenTracker* tracker) {
  shown_ = {};
  std::vector<NameBinding> seen;
  if (tracker == nullptr) return seen;
  for (const uint64_t name : tracker->OpenedBefore()) {
    if (binding.repeats()) {
      // A name that was sent back shows what it is bound to now.
      binding.bound_names()->Bind(SampleId(name));
      binding.bound_names()->Opened(SampleId(name));
    }
    seen.push_back({name, binding.ShownSample(SampleId(name)).value()});
    NoteShown(binding, seen.back());
  }
  return seen;
}

void EpochJournal::Again(SampleId name, const EpochOutcome& outcome) {
  const bool evidence =
      outcome.open == OpenClass::kReopen || outcome.open == OpenClass::kStray;
  // A second open by the same client call is retained with the first.
  const bool told =
      evidence || (outcome.open == OpenClass::kDouble && !outcome.repeat);
  if (!told || noted_again_ == kMostAgain) return;
  LedgerOpens opens;
  opens.opens.push_back(
      {evidence ? LedgerOpen::Kind::kAgain : LedgerOpen::Kind::kDouble,
       name.value()});
  // A later run that continues from here does not know what else was opened.
  if (++noted_again_ == kMostAgain) opens.untold = kMaxLedgerNames;
  writer_->Opened(opens);
}

void EpochJournal::ShowAgain(const LedgerState& state, const Binding& binding) {
  shown_ = {};
  for (const NameBinding& pair : state.bound_and_consumed()) {
    NoteShown(binding, pair);
  }
}

void EpochJournal::Continue(LedgerState& state, const Binding& binding) {
  ShowAgain(state, binding);
  // The order of views may have changed.
  state.begin.view = id_;
  writer_->Continue(state);
}

void EpochJournal::Adopt(LedgerState& state, const Binding& binding) {
  noted_again_ = 0;
  ShowAgain(state, binding);
  state.begin.view = id_;
  if (state.begin.repeats) served_.clear();  // the state has counts of its own
  state.begin.served_before = served_;
  writer_->Adopt(state);
}

OpenTracker::Past EpochJournal::PastOf(const LedgerState& state,
                                       const Binding& binding) {
  const LedgerEpoch& then = state.begin;
  const auto name_of = [&](uint64_t sample) {
    return binding.NameOfSample(SampleId(sample)).value();
  };
  OpenTracker::Past past;
  past.began_unexplained = then.unexplained;
  past.owner_unknown = true;  // it was of an earlier process
  past.stray = state.recent.untold;
  absl::flat_hash_set<uint64_t> replayed;
  noted_again_ = std::min(state.recent.untold, kMostAgain);
  for (const LedgerOpen& open : state.recent.opens) {
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
    state.consumed.ForEach([&](uint64_t sample) { add(name_of(sample)); });
    return past;
  }
  for (const NameBinding& pair : state.bound_and_consumed()) add(pair.name);
  return past;
}

void EpochJournal::KeepServed(const ViewSetup& before, const ViewSetup& now) {
  if (before.samples == now.samples || !before.repeats()) return;
  if (!served_.empty()) return;  // `before` never began to count
  served_ = before.samples->sets().ServedNow();
}

void EpochJournal::GiveServed(const ViewSetup& now) {
  if (served_.empty()) return;
  LogRefusal(now.samples->sets().TakeServed(std::exchange(served_, "")));
}

std::string EpochJournal::ServedBefore(const ViewSetup& setup) const {
  if (!served_.empty() || !setup.repeats()) return served_;
  return setup.samples->sets().ServedNow();  // it counts, but not this epoch
}

void EpochJournal::TakeServed(const ViewSetup& now, const LedgerState& last,
                              bool ended) {
  const LedgerEpoch& then = last.begin;
  const std::string& served = then.repeats ? then.served : then.served_before;
  if (served.empty() ||
      then.fingerprint != now.dataset->catalogue().samples_fingerprint()) {
    return;
  }
  const uint64_t samples = now.dataset->grouping().sample_count();
  absl::StatusOr<std::vector<uint32_t>> counts = UnpackCounts(served, samples);
  if (!counts.ok() || then.names != samples) return;
  if (ended && then.repeats) {
    for (const NameBinding& pair : last.bound_and_consumed()) {
      ++(*counts)[pair.sample];
    }
  }
  served_ = PackCounts(*counts);
  if (now.repeats()) GiveServed(now);
}

absl::Status FindPairs(Ledger* ledger, const std::string& path,
                       EpochToken& token) {
  if (!token.reactive() || token.pairs) return absl::OkStatus();
  if (token.position == 0 && token.digest == uint64_t{0}) {
    token.pairs.emplace();  // nothing was ever read
    return absl::OkStatus();
  }
  const auto fits = [&token](const LedgerPass& pass) {
    return IsOf(token, pass);
  };
  const absl::optional<LedgerState> state =
      ledger == nullptr ? absl::nullopt : ledger->Find(path, fits);
  if (!state) {
    return TokenRefused(absl::StrCat(
        "what ", token.policy, " has shown in epoch ", token.epoch.value(),
        " is neither in this line nor in the mount's state; save it with "
        "`shufflectl token --save DIR` and bring it back with --restore DIR"));
  }
  token.pairs = TokenOf(*state, token.keys, token.position).pairs;
  return absl::OkStatus();
}

}  // namespace shufflefs
