// SPDX-License-Identifier: Apache-2.0
#include "core/verify/proof_collector.h"

#include "core/ledger/sample_set.h"

namespace shufflefs {
namespace {

// The number of different names.
uint64_t NamesOf(const PackedPairs& pairs) {
  SampleSet names;
  for (uint64_t i = 0; i < pairs.size(); ++i) names.Add(pairs[i].name);
  names.Settle();
  return names.size();
}

}  // namespace

ProofCollector::Pass* ProofCollector::Running(size_t view) {
  return running_[view] ? &passes_[*running_[view]] : nullptr;
}

void ProofCollector::Begin(LedgerPass next) {
  running_[next.begin.view] = last_[next.begin.view_path] = passes_.size();
  passes_.emplace_back(std::move(next));
}

void ProofCollector::End(size_t view) {
  Pass* ended = Running(view);
  if (ended == nullptr) return;
  LedgerPass& pass = ended->pass;
  SampleSet samples = std::exchange(pass.unnamed, SampleSet());
  for (uint64_t i = 0; i < pass.shown.size(); ++i) {
    samples.Add(pass.shown[i].sample);
  }
  samples.Settle();
  EpochProof& proof = ended->proof;
  proof.begin = pass.begin;
  proof.consumed = pass.begin.repeats ? NamesOf(pass.shown) : samples.size();
  proof.twice = ended->unnamed + pass.shown.size() - proof.consumed;
  proof.unnamed = ended->unnamed;
  if (keeps_consumed_) ended->consumed = std::move(samples);
  pass.Trim();
  running_[view] = absl::nullopt;
}

void ProofCollector::OnEpoch(const LedgerEpoch& epoch) {
  End(epoch.view);
  std::vector<std::string> switches;
  uint64_t bound_anew = 0;
  const auto last = last_.find(epoch.view_path);
  if (last != last_.end()) {
    Pass& pass = passes_[last->second];
    // The view may have had another number.
    const uint8_t view = pass.pass.begin.view;
    if (running_[view] == last->second) End(view);
    pass.superseded = Supersedes(epoch, pass.pass.begin);
    if (pass.superseded) switches = std::move(pass.proof.switches);
    bound_anew =
        pass.superseded ? pass.proof.bound_anew : BoundAnew(pass, epoch);
  }
  Begin(LedgerPass(epoch));
  passes_.back().proof.switches = std::move(switches);
  passes_.back().proof.bound_anew = bound_anew;
}

// Names that were opened again in the pass that had ended were opened for the
// next one, if that began by itself. (If the user ends an epoch, nothing is
// retained, whatever was opened.)
uint64_t ProofCollector::BoundAnew(const Pass& before,
                                   const LedgerEpoch& next) {
  const uint64_t then = before.pass.begin.epoch.value();
  if (next.retained.empty() || next.apart || next.epoch.value() != then + 1 ||
      SameBinding(before.pass.begin, next)) {
    return 0;
  }
  SampleSet retained;
  for (const NameBinding& pair : next.retained) retained.Add(pair.name);
  retained.Settle();
  SampleSet lost;
  for (const uint64_t name : before.again) {
    if (!retained.Contains(name)) lost.Add(name);
  }
  lost.Settle();
  return lost.size();
}

void ProofCollector::OnConsumed(uint8_t view, uint64_t sample) {
  Pass* running = Running(view);
  if (running == nullptr) return;
  running->pass.unnamed.Add(sample);
  ++running->unnamed;
}

void ProofCollector::OnShown(uint8_t view, const NameBinding& pair) {
  if (Pass* running = Running(view)) running->pass.shown.Add(pair);
}

void ProofCollector::OnBound(uint8_t view, const PackedPairs& pairs) {
  if (Pass* running = Running(view)) running->pass.Bound(pairs);
}

void ProofCollector::OnOpens(uint8_t view, const LedgerOpens& opens) {
  Pass* running = Running(view);
  if (running == nullptr) return;
  if (opens.forget()) running->again.clear();
  const LedgerPass& pass = running->pass;
  if (opens.anew || pass.shown.size() + running->unnamed < pass.begin.names) {
    return;
  }
  for (const LedgerOpen& open : opens.opens) {
    if (open.kind == LedgerOpen::Kind::kAgain) {
      running->again.push_back(open.number);
    }
  }
}

void ProofCollector::OnHold(const LedgerHold& hold) {
  const Pass* running = Running(hold.view);
  if (running == nullptr) return;
  LedgerPass next = running->pass.Held(hold);
  End(hold.view);
  Begin(std::move(next));
}

void ProofCollector::OnSwitch(const LedgerSwitch& change) {
  Pass* running = Running(change.view);
  if (running != nullptr) running->proof.switches.push_back(change.what);
}

std::vector<CollectedPass> ProofCollector::Take() {
  for (size_t view = 0; view < running_.size(); ++view) {
    if (Pass* running = Running(view)) running->proof.running = true;
    End(view);
  }
  std::vector<CollectedPass> collected;
  for (Pass& pass : passes_) {
    if (pass.superseded) continue;
    collected.push_back({std::move(pass.proof), std::move(pass.pass),
                         std::move(pass.consumed)});
  }
  passes_.clear();
  last_.clear();
  return collected;
}

}  // namespace shufflefs
