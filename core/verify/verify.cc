// SPDX-License-Identifier: Apache-2.0
#include "core/verify/verify.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/ledger/ledger_reader.h"
#include "core/ledger/served_counts.h"
#include "core/verify/proof_collector.h"
#include "core/verify/verify_pairs.h"

namespace shufflefs {
namespace {

std::string PathOf(const Dataset& dataset, SampleId sample) {
  return dataset.catalogue().path(dataset.grouping().first_member(sample));
}

// Returns whether the orders of two passes of a view can be compared. Both must
// be read or both planned, the samples must be numbered alike, and the plans
// must differ.
bool Comparable(const LedgerEpoch& a, const LedgerEpoch& b) {
  return a.reactive == b.reactive && a.names == b.names &&
         a.fingerprint == b.fingerprint && a.options_hash == b.options_hash &&
         a.substitute == b.substitute && (a.reactive || !SameBinding(a, b));
}

// Proves one pass after the other. Remembers the last binding, and for each
// view the order of its last pass.
class Prover {
 public:
  explicit Prover(const BindingMaker& make_binding)
      : make_binding_(make_binding) {}

  EpochProof Prove(CollectedPass collected);
  // For each view that has two consecutive orders.
  std::map<std::string, EpochMemory> Memory() const;

 private:
  // Makes the binding of the pass. A held epoch has that of the epoch before
  // it.
  void Rebind(const LedgerEpoch& epoch);
  absl::Status Bijection(const CollectedPass& collected);
  void AddPairs(const LedgerPass& pass, EpochProof& proof) const;
  std::shared_ptr<const Order> OrderOf(const LedgerPass& pass,
                                       const EpochProof& proof) const;
  void AddQuality(const LedgerPass& pass, EpochProof& proof);
  void AddMemory(const LedgerPass& pass, const Order* order);

  const BindingMaker& make_binding_;
  absl::optional<LedgerEpoch> bound_;  // the epoch of binding_ and plan_
  absl::StatusOr<std::shared_ptr<const Binding>> binding_ = nullptr;
  absl::Status plan_;  // whether the plan itself is a bijection
  struct Measured {
    LedgerEpoch begin;
    std::shared_ptr<const Order> order;  // null if there is none
    std::shared_ptr<EpochMemoryMeter> memory;
  };
  absl::flat_hash_map<std::string, Measured> measured_;  // last one, by view
};

// Empty if the counts are for another number of samples.
absl::optional<EpochProof::Times> TimesShown(const LedgerPass& pass) {
  absl::StatusOr<std::vector<uint32_t>> counts =
      UnpackCounts(pass.begin.served, pass.begin.names);
  if (!counts.ok() || counts->empty()) {
    return absl::nullopt;
  }
  for (uint64_t i = 0; i < pass.shown.size(); ++i) {
    ++(*counts)[pass.shown[i].sample];
  }
  const auto [fewest, most] =
      std::minmax_element(counts->begin(), counts->end());
  return EpochProof::Times{*fewest, *most};
}

absl::StatusOr<std::shared_ptr<const Binding>> FittingBinding(
    const LedgerEpoch& epoch, const BindingMaker& make_binding) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Binding> binding, make_binding(epoch));
  const uint64_t samples = binding->plan().dataset().grouping().sample_count();
  if (samples == epoch.names) return binding;
  return absl::FailedPreconditionError(
      absl::StrCat("had ", epoch.names, " names, the view has ", samples));
}

void Prover::Rebind(const LedgerEpoch& epoch) {
  if (bound_ && SameBinding(*bound_, epoch)) return;
  bound_ = epoch;
  binding_ = FittingBinding(epoch, make_binding_);
  plan_ = binding_.status();
  if (plan_.ok() && !epoch.reactive) plan_ = ProveBijection(**binding_);
}

absl::Status Prover::Bijection(const CollectedPass& collected) {
  const LedgerPass& pass = collected.pass;
  if (pass.begin.reactive) {
    const absl::Status pairs =
        ProvePairs(pass.State().bound,
                   binding_.ok() ? &(*binding_)->plan().dataset() : nullptr,
                   pass.begin.repeats);
    return pairs.ok() ? binding_.status() : pairs;
  }
  if (!plan_.ok()) return plan_;
  for (uint64_t i = 0; i < pass.shown.size(); ++i) {
    const NameBinding pair = pass.shown[i];
    const SampleId planned = (*binding_)->ShownSample(SampleId(pair.name));
    if (planned == SampleId(pair.sample)) continue;
    const Dataset& dataset = (*binding_)->plan().dataset();
    return absl::DataLossError(
        absl::StrCat(PathOf(dataset, SampleId(pair.name)), ": showed ",
                     PathOf(dataset, SampleId(pair.sample)),
                     ", not what was planned, ", PathOf(dataset, planned)));
  }
  return absl::OkStatus();
}

// Adds what only the pairs of a reactive epoch show.
void Prover::AddPairs(const LedgerPass& pass, EpochProof& proof) const {
  if (!pass.begin.reactive) return;
  if (proof.running) proof.bound = pass.State().bound;
  if (!binding_.ok()) return;
  LeftOut left_out = FirstLeftOut(pass.shown, (*binding_)->plan().dataset());
  if (!pass.begin.repeats) proof.not_shown = std::move(left_out.sample);
  proof.not_read = std::move(left_out.name);
}

// The order to measure. Null if there is none.
std::shared_ptr<const Order> Prover::OrderOf(const LedgerPass& pass,
                                             const EpochProof& proof) const {
  if (!binding_.ok() || proof.broken()) return nullptr;
  const std::shared_ptr<const Plan>& plan = (*binding_)->shared_plan();
  if (!pass.begin.reactive) {
    if (plan->policy().consumption() != Consumption::kPlanned) return nullptr;
    return {plan, &plan->view_order()};
  }
  if (pass.begin.repeats) return nullptr;  // not an order of all samples
  if (!proof.complete() && proof.consumed < 2 * QualityInput().batch) {
    return nullptr;
  }
  std::vector<uint64_t> samples;
  samples.reserve(pass.shown.size());
  for (uint64_t i = 0; i < pass.shown.size(); ++i) {
    samples.push_back(pass.shown[i].sample);
  }
  return std::make_shared<const SequenceOrder>(std::move(samples),
                                               pass.begin.names);
}

void Prover::AddQuality(const LedgerPass& pass, EpochProof& proof) {
  const std::shared_ptr<const Order> order = OrderOf(pass, proof);
  Measured& before = measured_[pass.begin.view_path];
  if (order != nullptr) {
    const Grouping& grouping = (*binding_)->plan().dataset().grouping();
    QualityInput input;
    input.order = order.get();
    input.source_size = pass.begin.names;
    if (Comparable(before.begin, pass.begin)) input.other = before.order.get();
    input.label = [&grouping](uint64_t sample) {
      return grouping.group_of(SampleId(sample)).value();
    };
    input.seed = pass.begin.seed;
    proof.quality = MeasureShuffleQuality(input);
    proof.quality_compared = input.other != nullptr;
  }
  AddMemory(pass, order.get());
  before.begin = pass.begin;
  before.order = order;
}

void Prover::AddMemory(const LedgerPass& pass, const Order* order) {
  Measured& before = measured_[pass.begin.view_path];
  // A held epoch has the plan of the epoch before it.
  if (!pass.begin.reactive && SameBinding(before.begin, pass.begin)) return;
  if (order == nullptr) {
    if (before.memory != nullptr) before.memory->Forget();
    return;
  }
  if (before.memory == nullptr || !Comparable(before.begin, pass.begin)) {
    const Grouping& grouping = (*binding_)->plan().dataset().grouping();
    before.memory = std::make_shared<EpochMemoryMeter>(
        pass.begin.names, grouping.group_count(), [&](uint64_t sample) {
          return grouping.group_of(SampleId(sample)).value();
        });
  }
  std::vector<uint64_t> samples(order->size());
  for (uint64_t i = 0; i < samples.size(); ++i) samples[i] = order->SampleAt(i);
  before.memory->Add(samples);
}

std::map<std::string, EpochMemory> Prover::Memory() const {
  std::map<std::string, EpochMemory> memory;
  for (const auto& [view, measured] : measured_) {
    if (measured.memory == nullptr) continue;
    const EpochMemory report = measured.memory->Report();
    if (report.before.front().pairs > 0) memory[view] = report;
  }
  return memory;
}

EpochProof Prover::Prove(CollectedPass collected) {
  Rebind(collected.pass.begin);
  EpochProof proof = std::move(collected.proof);
  proof.bijection = Bijection(collected);
  // Only then the number of names is more than what a ledger claims.
  if (collected.pass.begin.repeats && binding_.ok()) {
    proof.times = TimesShown(collected.pass);
  }
  AddPairs(collected.pass, proof);
  AddQuality(collected.pass, proof);
  return proof;
}

}  // namespace

bool LedgerProof::broken() const {
  return !ledger.ok() ||
         std::any_of(epochs.begin(), epochs.end(),
                     [](const EpochProof& proof) { return proof.broken(); });
}

absl::StatusOr<LedgerProof> VerifyLedger(const FilePlace& place,
                                         const BindingMaker& make_binding) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LedgerReader> reader,
                   LedgerReader::Open(place));
  ProofCollector collector;
  LedgerProof proof;
  proof.ledger = reader->Run(collector);
  Prover prover(make_binding);
  for (CollectedPass& pass : collector.Take()) {
    proof.epochs.push_back(prover.Prove(std::move(pass)));
  }
  proof.memory = prover.Memory();
  return proof;
}

absl::Status ProveBijection(const Binding& binding) {
  const Grouping& grouping = binding.plan().dataset().grouping();
  const uint64_t samples = grouping.sample_count();
  std::vector<bool> shown(samples);
  for (uint64_t n = 0; n < samples; ++n) {
    const SampleId name(n);
    const SampleId sample = binding.ShownSample(name);
    absl::string_view wrong;
    if (sample.value() >= samples) {
      wrong = "shows no sample of the view";
    } else if (grouping.group_of(sample) != grouping.group_of(name)) {
      wrong = "shows a sample of another group";
    } else if (shown[sample.value()]) {
      wrong = "shows a sample that another name shows";
    } else if (binding.NameOfSample(sample) != name) {
      wrong = "is not the name of the sample that it shows";
    }
    if (!wrong.empty()) {
      return absl::DataLossError(
          absl::StrCat(PathOf(binding.plan().dataset(), name), ": ", wrong));
    }
    shown[sample.value()] = true;
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
