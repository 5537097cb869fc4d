// SPDX-License-Identifier: Apache-2.0
#include "core/verify/joint_proof.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/status.h"
#include "core/ledger/ledger_reader.h"
#include "core/ledger/sample_set.h"
#include "core/verify/proof_collector.h"

namespace shufflefs {
namespace {

struct NodePass {
  size_t node = 0;
  CollectedPass pass;
};
using Key = std::pair<std::string, uint64_t>;  // view path, epoch
using Passes = std::map<Key, std::vector<NodePass>>;

// If names are bound on demand, each node records only what it knows of the
// names that were retained.
bool OneBinding(LedgerEpoch a, LedgerEpoch b) {
  if (a.reactive && b.reactive) {
    a.retained.clear();
    b.retained.clear();
  }
  return SameBinding(a, b);
}

// The nodes whose binding most have. Of two that are as frequent, the one that
// comes first.
const LedgerEpoch& MostFrequent(const std::vector<NodePass>& passes) {
  const LedgerEpoch* best = nullptr;
  size_t most = 0;
  for (const NodePass& one : passes) {
    size_t count = 0;
    for (const NodePass& other : passes) {
      count += OneBinding(one.pass.pass.begin, other.pass.pass.begin) ? 1 : 0;
    }
    if (count <= most) continue;
    best = &one.pass.pass.begin;
    most = count;
  }
  return *best;
}

const std::vector<NodePass>* Find(const Passes& all, const Key& epoch) {
  const auto found = all.find(epoch);
  return found == all.end() ? nullptr : &found->second;
}

// The samples that keep their names when `passes` begin. The number of names is
// only what a ledger claims, so no memory is taken by it.
SampleSet Retained(const std::vector<NodePass>* passes) {
  SampleSet retained;
  if (passes == nullptr) return retained;
  for (const NodePass& one : *passes) {
    for (const NameBinding& pair : one.pass.pass.begin.retained) {
      retained.Add(pair.sample);
    }
  }
  retained.Settle();
  return retained;
}

bool SharesBinding(const std::vector<NodePass>* passes,
                   const LedgerEpoch& begin) {
  return passes != nullptr && absl::c_any_of(*passes, [&](const auto& one) {
           return OneBinding(one.pass.pass.begin, begin);
         });
}

// Returns whether names began to show other samples than before.
bool BoundAnew(const LedgerEpoch& begin) {
  return begin.moves && begin.binding == begin.epoch && !begin.identity;
}

// How many of the samples that were retained in an epoch were consumed in the
// one before, and not in it.
uint64_t CountEarly(const std::vector<NodePass>* before,
                    const SampleSet& retained, SampleSet consumed) {
  uint64_t early = 0;
  if (before == nullptr) return early;
  for (const NodePass& one : *before) {
    one.pass.consumed.ForEach([&](uint64_t sample) {
      if (retained.Contains(sample) && consumed.Add(sample)) ++early;
    });
  }
  return early;
}

JointEpoch Join(const Passes& all, const Key& key,
                const std::vector<NodePass>& passes) {
  const LedgerEpoch& begin = MostFrequent(passes);
  JointEpoch joint;
  joint.view_path = key.first;
  joint.epoch = key.second;
  joint.names = begin.names;
  const std::vector<NodePass>* const before =
      key.second == 0 ? nullptr : Find(all, {key.first, key.second - 1});
  const std::vector<NodePass>* const next =
      Find(all, {key.first, key.second + 1});
  joint.held = SharesBinding(before, begin) || SharesBinding(next, begin);
  const SampleSet retained = Retained(next);
  SampleSet consumed;
  for (const NodePass& one : passes) {
    joint.running = joint.running || one.pass.proof.running;
    if (!OneBinding(one.pass.pass.begin, begin)) {
      joint.others.push_back(one.node);
      if (BoundAnew(begin) && BoundAnew(one.pass.pass.begin) &&
          one.pass.consumed.size() > 0) {
        joint.apart.push_back(one.node);
      }
      continue;
    }
    joint.nodes.push_back(one.node);
    one.pass.consumed.ForEach([&](uint64_t sample) {
      if (consumed.Add(sample)) {
        ++joint.consumed;
      } else if (!retained.Contains(sample)) {
        ++joint.again;
      }
    });
  }
  consumed.Settle();
  joint.early = CountEarly(before, Retained(&passes), std::move(consumed));
  return joint;
}

}  // namespace

absl::StatusOr<std::vector<JointEpoch>> JoinLedgers(
    absl::Span<const FilePlace> ledgers) {
  Passes all;
  for (size_t node = 0; node < ledgers.size(); ++node) {
    ProofCollector collector(/*keeps_consumed=*/true);
    RETURN_IF_ERROR(ReplayLedger(ledgers[node], collector));
    for (CollectedPass& pass : collector.Take()) {
      const LedgerEpoch& begin = pass.pass.begin;
      std::vector<NodePass>& nodes =
          all[Key(begin.view_path, begin.epoch.value())];
      // The user may have gone back to an epoch: the last time counts.
      if (!nodes.empty() && nodes.back().node == node) nodes.pop_back();
      nodes.push_back({node, std::move(pass)});
    }
  }
  std::vector<JointEpoch> joint;
  for (const auto& [key, passes] : all) {
    if (passes.size() > 1) joint.push_back(Join(all, key, passes));
  }
  return joint;
}

}  // namespace shufflefs
