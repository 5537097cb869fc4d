// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_pass.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/types/span.h"
#include "core/ledger/ledger_pairs.h"

namespace shufflefs {
namespace {

constexpr size_t kSetPart = 1 << 16;    // words of a set in one record
constexpr char kUnexplainedRule = 'c';  // see core/epoch/epoch_detector.h

bool Before(const NameBinding& a, const NameBinding& b) {
  return std::tie(a.name, a.sample) < std::tie(b.name, b.sample);
}

std::vector<NameBinding> Unpacked(const PackedPairs& packed) {
  std::vector<NameBinding> pairs;
  pairs.reserve(packed.size());
  for (uint64_t i = 0; i < packed.size(); ++i) pairs.push_back(packed[i]);
  return pairs;
}

// Calls visit for those of `pairs` that are not among `others`.
template <typename Pairs, typename Visit>
void ForEachBut(const Pairs& pairs, std::vector<NameBinding> others,
                Visit&& visit) {
  if (pairs.size() == 0) return;
  std::sort(others.begin(), others.end(), Before);
  for (uint64_t i = 0; i < pairs.size(); ++i) {
    const NameBinding pair = pairs[i];
    if (!std::binary_search(others.begin(), others.end(), pair, Before)) {
      visit(pair);
    }
  }
}

// Each name of `pairs` once, where it comes last. A name has one sample.
// `names` comes from a file, so no memory depends on it.
PackedPairs LastOfEach(const PackedPairs& pairs, uint64_t names) {
  std::vector<uint64_t> order(pairs.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return std::make_pair(pairs[a].name, a) < std::make_pair(pairs[b].name, b);
  });
  std::vector<uint64_t> last;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool ends = i + 1 == order.size() ||
                      pairs[order[i]].name != pairs[order[i + 1]].name;
    if (ends) last.push_back(order[i]);
  }
  std::sort(last.begin(), last.end());
  PackedPairs each(names);
  for (const uint64_t i : last) each.Add(pairs[i]);
  return each;
}

// Records that will follow each other in a file.
class WordsAt {
 public:
  // The first one will be at word number `at`.
  explicit WordsAt(uint64_t at) : at_(at) {}

  uint64_t next() const { return at_ + words_.size(); }
  const ledger_format::Words& words() const { return words_; }

  // REQUIRES: `record` was encoded for next().
  absl::Status Add(const absl::StatusOr<ledger_format::Words>& record) {
    RETURN_IF_ERROR(record.status());
    words_.insert(words_.end(), record->begin(), record->end());
    return absl::OkStatus();
  }
  // `consumed`: in this pass.
  absl::Status AddPairs(uint8_t view, bool consumed, const PackedPairs& pairs);
  // What was opened in a pass.
  absl::Status AddOpened(uint8_t view, const LedgerPass& pass);

 private:
  const uint64_t at_;
  ledger_format::Words words_;
};

absl::Status WordsAt::AddPairs(uint8_t view, bool consumed,
                               const PackedPairs& pairs) {
  using ledger_format::kMaxSetPairs;
  for (uint64_t first = 0; first < pairs.size(); first += kMaxSetPairs) {
    RETURN_IF_ERROR(Add(ledger_format::EncodePairSet(
        view, {consumed, pairs.Part(first, kMaxSetPairs)}, next())));
  }
  return absl::OkStatus();
}

absl::Status WordsAt::AddOpened(uint8_t view, const LedgerPass& pass) {
  RETURN_IF_ERROR(AddPairs(view, false, pass.held));
  RETURN_IF_ERROR(AddPairs(view, true, pass.shown));
  absl::Span<const SampleBits> rest = pass.unnamed.bits();
  while (!rest.empty()) {
    const auto part = rest.subspan(0, kSetPart);
    rest.remove_prefix(part.size());
    RETURN_IF_ERROR(Add(ledger_format::EncodeConsumedSet(view, part, next())));
  }
  for (const uint64_t sample : pass.evidence.surplus) {
    words_.push_back(ledger_format::ConsumedWord(view, sample, next()));
  }
  if (pass.forgets_again) {
    RETURN_IF_ERROR(
        Add(ledger_format::EncodeOpens(view, ForgottenOpens(), next())));
  }
  if (!pass.evidence.again.empty()) {
    LedgerOpens opens;
    for (const uint64_t name : pass.evidence.again) {
      opens.opens.push_back({LedgerOpen::Kind::kAgain, name});
    }
    RETURN_IF_ERROR(Add(ledger_format::EncodeOpens(view, opens, next())));
  }
  // This replaces what the records before tell of the order.
  const RecentOpens& recent = pass.tally.recent;
  if (!recent.empty()) {
    RETURN_IF_ERROR(
        Add(ledger_format::EncodeOpens(view, recent.told(), next())));
  }
  if (pass.containers.empty() && !pass.containers_anew && pass.by_hand == 0) {
    return absl::OkStatus();
  }
  LedgerContainers read{
      pass.begin.binding, {}, pass.by_hand, pass.containers_anew};
  read.files.assign(pass.containers.begin(), pass.containers.end());
  return Add(ledger_format::EncodeContainers(view, read, next()));
}

void Keep(uint64_t number, std::vector<uint64_t>& evidence) {
  if (evidence.size() < LedgerEvidence::kMost) evidence.push_back(number);
}

// What was opened in a pass, behind the record that began it.
template <typename Record>
absl::Status AppendBehind(const Record& record, const LedgerPass& pass,
                          AppendLog& file) {
  WordsAt words(file.size());
  RETURN_IF_ERROR(words.Add(ledger_format::Encode(record, words.next())));
  RETURN_IF_ERROR(words.AddOpened(record.view, pass));
  return file.Append(words.words());
}

}  // namespace

bool SameBinding(const LedgerEpoch& a, const LedgerEpoch& b) {
  return a.view_path == b.view_path && a.names == b.names &&
         a.fingerprint == b.fingerprint && a.binding == b.binding &&
         a.seed == b.seed && a.policy == b.policy &&
         a.options_hash == b.options_hash && a.substitute == b.substitute &&
         a.identity == b.identity && a.reactive == b.reactive &&
         a.read_before == b.read_before && a.retained == b.retained;
}

LedgerPass::LedgerPass(const LedgerState& state) : LedgerPass(state.begin) {
  SampleSet named;
  for (const NameBinding& pair : state.not_consumed()) held.Add(pair);
  for (const NameBinding& pair : state.bound_and_consumed()) shown.Add(pair);
  for (const NameBinding& pair : state.bound) named.Add(pair.sample);
  named.Settle();
  state.consumed.ForEach([&](uint64_t sample) {
    if (!named.Contains(sample)) unnamed.Add(sample);
  });
  unnamed.Settle();
  evidence = state.evidence;
  tally.consumptions = shown.size() + unnamed.size() + evidence.surplus.size();
  tally.recent.Add(state.recent);
  // Else a ledger would take the consumed samples for the last opens.
  forgets_again =
      tally.consumptions > 0 && tally.recent.empty() && evidence.again.empty();
  containers.insert(state.containers.begin(), state.containers.end());
  Trim();
}

LedgerPass LedgerPass::Apart(const LedgerState& state) {
  LedgerPass pass(state);
  pass.begin.apart = true;
  return pass;
}

LedgerPass LedgerPass::Held(const LedgerHold& hold) const {
  LedgerPass next(begin);
  next.begin.epoch = hold.epoch;
  next.begin.unexplained = hold.rule == kUnexplainedRule;
  next.begin.by_hand |= by_hand;
  ForEachBut(held_twice_ ? LastOfEach(held, begin.names) : held,
             Unpacked(shown),
             [&](const NameBinding& pair) { next.held.Add(pair); });
  for (uint64_t i = 0; i < shown.size(); ++i) next.held.Add(shown[i]);
  return next;
}

LedgerState LedgerPass::State() const {
  LedgerState state;
  state.begin = begin;
  state.begin.by_hand |= by_hand;
  state.consumed = unnamed;
  for (uint64_t i = 0; i < shown.size(); ++i) {
    state.consumed.Add(shown[i].sample);
  }
  state.consumed.Settle();
  std::vector<NameBinding> rest;
  ForEachBut(held, Unpacked(shown),
             [&](const NameBinding& pair) { rest.push_back(pair); });
  const std::vector<NameBinding> consumed = Unpacked(shown);
  state.bound_consumed = consumed.size();
  rest.insert(rest.end(), consumed.begin(), consumed.end());
  if (begin.reactive) {
    ForEachBut(begin.retained, rest,
               [&](const NameBinding& pair) { state.bound.push_back(pair); });
  }
  state.bound.insert(state.bound.end(), rest.begin(), rest.end());
  state.recent = tally.recent.told();
  state.containers.assign(containers.begin(), containers.end());
  state.evidence = evidence;
  return state;
}

void LedgerPass::Consumed(uint64_t sample) {
  if (!unnamed.Add(sample)) Keep(sample, evidence.surplus);
  tally.Consumed(sample);
}

void LedgerPass::ConsumedUnder(const NameBinding& pair) {
  shown.Add(pair);
  tally.Consumed(pair.name);
}

void LedgerPass::Opened(const LedgerOpens& opens) {
  tally.recent.Add(opens);
  if (opens.forget()) {
    evidence.again.clear();
    forgets_again = true;
  }
  // A record that replaces earlier ones tells of them once more.
  if (opens.anew || tally.consumptions < begin.names) return;
  for (const LedgerOpen& open : opens.opens) {
    if (open.kind == LedgerOpen::Kind::kAgain) {
      Keep(open.number, evidence.again);
    }
  }
}

void LedgerPass::EndBefore(const LedgerEpoch& next) {
  tally.recent = {};  // nobody continues an epoch that ended
  containers.clear();
  containers_anew = false;
  forgets_again = false;
  SampleSet retained;
  for (const NameBinding& pair : next.retained) retained.Add(pair.name);
  retained.Settle();
  std::erase_if(evidence.again, [&](uint64_t name) {
    return next.retained.empty() || next.apart || retained.Contains(name);
  });
  Trim();
}

void LedgerPass::EndHeld() {
  tally.recent = {};
  containers.clear();
  containers_anew = false;
  forgets_again = false;
  evidence.again.clear();
  Trim();
}

void LedgerPass::ReadWhole(const LedgerContainers& read) {
  by_hand |= read.by_hand;
  if (read.binding != begin.binding) return;  // of an epoch that ended
  if (read.anew) {
    containers.clear();
    containers_anew = true;
  }
  containers.insert(read.files.begin(), read.files.end());
}

void LedgerPass::Bound(const PackedPairs& pairs) {
  // A name may be looked up again after a restart. If a hold was written late,
  // they are of passes that were not written. But names keep their samples, so
  // earlier ones may have shown the same pairs.
  held_twice_ = held_twice_ || held.size() > 0;
  for (uint64_t i = 0; i < pairs.size(); ++i) held.Add(pairs[i]);
}

void LedgerPass::Trim() {
  if (std::exchange(held_twice_, false)) {
    const PackedPairs once = LastOfEach(held, begin.names);
    held = PackedPairs(begin.names);
    ForEachBut(once, Unpacked(shown),
               [&](const NameBinding& pair) { held.Add(pair); });
  }
  unnamed.Settle();
  tally.recent.Trim();
  held.Trim();
  shown.Trim();
}

uint64_t LedgerPass::memory_bytes() const {
  constexpr uint64_t kNode = 40;  // of a set, besides its value
  return sizeof(*this) + held.memory_bytes() + shown.memory_bytes() +
         unnamed.bits().size() * sizeof(SampleBits) +
         begin.retained.size() * sizeof(NameBinding) + begin.served.size() +
         begin.served_before.size() +
         tally.recent.told().opens.size() * sizeof(LedgerOpen) +
         containers.size() * (kNode + sizeof(uint64_t)) +
         (evidence.surplus.size() + evidence.again.size()) * sizeof(uint64_t);
}

absl::Status AppendBound(AppendLog& file, uint8_t view,
                         const PackedPairs& pairs) {
  WordsAt words(file.size());
  RETURN_IF_ERROR(words.AddPairs(view, /*consumed=*/false, pairs));
  return file.Append(words.words());
}

absl::Status AppendPass(AppendLog& file, const LedgerPass& pass) {
  return AppendBehind(pass.begin, pass, file);
}

absl::Status AppendPass(AppendLog& file, const LedgerHold& hold,
                        const LedgerPass& pass) {
  return AppendBehind(hold, pass, file);
}

absl::Status AppendRest(AppendLog& file, const LedgerPass& pass) {
  WordsAt words(file.size());
  RETURN_IF_ERROR(words.AddOpened(pass.begin.view, pass));
  return file.Append(words.words());
}

}  // namespace shufflefs
