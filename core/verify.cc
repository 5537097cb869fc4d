// SPDX-License-Identifier: Apache-2.0
#include "core/verify.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/ledger_reader.h"
#include "core/sample_set.h"
#include "core/status.h"

namespace shufflefs {
namespace {

// Gathers the passes of a ledger, one EpochProof each.
class ProofCollector : public LedgerVisitor {
 public:
  void OnEpoch(const LedgerEpoch& epoch) override {
    End(epoch.view);
    // The view may have had another number: then a daemon went on after a
    // restart, and writes down again what was consumed before.
    for (size_t view = 0; view < running_.size(); ++view) {
      if (!running_[view]) continue;
      const LedgerEpoch& other = passes_[*running_[view]].proof.begin;
      if (other.view_path != epoch.view_path) continue;
      passes_[*running_[view]].superseded = other.epoch == epoch.epoch;
      End(view);
    }
    Begin(epoch);
  }

  void OnConsumed(uint8_t view, uint64_t sample) override {
    if (!running_[view]) return;
    Pass& pass = passes_[*running_[view]];
    pass.samples.Add(sample);
    ++pass.consumptions;
  }

  void OnHold(const LedgerHold& hold) override {
    if (!running_[hold.view]) return;
    LedgerEpoch next = passes_[*running_[hold.view]].proof.begin;
    next.epoch = hold.epoch;
    End(hold.view);
    Begin(std::move(next));
  }

  void OnSwitch(const LedgerSwitch& change) override {
    if (!running_[change.view]) return;
    passes_[*running_[change.view]].proof.switches.push_back(change.what);
  }

  std::vector<EpochProof> Take() {
    for (size_t view = 0; view < running_.size(); ++view) {
      if (running_[view]) passes_[*running_[view]].proof.running = true;
      End(view);
    }
    std::vector<EpochProof> proofs;
    for (Pass& pass : passes_) {
      if (!pass.superseded) proofs.push_back(std::move(pass.proof));
    }
    passes_.clear();
    return proofs;
  }

 private:
  struct Pass {
    EpochProof proof;
    SampleSet samples;
    uint64_t consumptions = 0;
    bool superseded = false;
  };

  void Begin(LedgerEpoch epoch) {
    running_[epoch.view] = passes_.size();
    passes_.emplace_back();
    passes_.back().proof.begin = std::move(epoch);
  }

  void End(size_t view) {
    if (!running_[view]) return;
    Pass& pass = passes_[*running_[view]];
    pass.samples.Settle();
    pass.proof.consumed = pass.samples.size();
    pass.proof.twice = pass.consumptions - pass.proof.consumed;
    pass.samples = SampleSet();
    running_[view] = absl::nullopt;
  }

  std::vector<Pass> passes_;
  std::array<absl::optional<size_t>, 256> running_;  // by the view's number
};

bool SameBinding(const LedgerEpoch& a, const LedgerEpoch& b) {
  return a.view_path == b.view_path && a.names == b.names &&
         a.fingerprint == b.fingerprint && a.binding == b.binding &&
         a.seed == b.seed && a.policy == b.policy &&
         a.options_hash == b.options_hash && a.substitute == b.substitute &&
         a.identity == b.identity && a.carried == b.carried;
}

absl::Status ProveEpoch(const LedgerEpoch& epoch,
                        const BindingMaker& make_binding) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Binding> binding,
                   make_binding(epoch));
  const uint64_t samples = binding->plan().dataset().grouping().sample_count();
  if (samples != epoch.names) {
    return absl::FailedPreconditionError(
        absl::StrCat("had ", epoch.names, " names, the view has ", samples));
  }
  return ProveBijection(*binding);
}

}  // namespace

bool LedgerProof::broken() const {
  return !ledger.ok() ||
         std::any_of(epochs.begin(), epochs.end(),
                     [](const EpochProof& proof) { return proof.broken(); });
}

absl::StatusOr<LedgerProof> VerifyLedger(const std::string& path,
                                         const BindingMaker& make_binding) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LedgerReader> reader,
                   LedgerReader::Open(path));
  ProofCollector collector;
  LedgerProof proof;
  proof.ledger = reader->Run(collector);
  proof.epochs = collector.Take();
  const EpochProof* before = nullptr;
  for (EpochProof& epoch : proof.epochs) {
    // A held epoch keeps the binding of the one before it.
    const bool known =
        before != nullptr && SameBinding(before->begin, epoch.begin);
    epoch.bijection =
        known ? before->bijection : ProveEpoch(epoch.begin, make_binding);
    before = &epoch;
  }
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
          absl::StrCat(binding.plan().dataset().catalogue().path(
                           grouping.first_member(name)),
                       ": ", wrong));
    }
    shown[sample.value()] = true;
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
