// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_history.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/ledger/ledger_pairs.h"

namespace shufflefs {
namespace {

// At least this many epochs of a view are kept, however many pairs they have.
constexpr size_t kAlwaysKept = 2;
constexpr size_t kCopiedWords = 1 << 16;  // of one append of a copy

uint64_t PairBytes(const LedgerPass& pass) {
  return pass.held.memory_bytes() + pass.shown.memory_bytes();
}

}  // namespace

void LedgerCopier::Put(absl::Span<const uint64_t> record) {
  words_.insert(words_.end(), record.begin(), record.end());
  if (words_.size() >= kCopiedWords) Finish().IgnoreError();  // see status_
}
void LedgerCopier::Add(const absl::StatusOr<ledger_format::Words>& record) {
  if (record.ok()) Put(*record);
  if (status_.ok()) status_ = record.status();
}
absl::Status LedgerCopier::Finish() {
  if (status_.ok()) status_ = file_.Append(words_);
  words_.clear();
  return status_;
}
void LedgerCopier::OnEpoch(const LedgerEpoch& epoch) {
  Add(ledger_format::Encode(epoch, next()));
}
void LedgerCopier::OnConsumed(uint8_t view, uint64_t sample) {
  Put({ledger_format::ConsumedWord(view, sample, next())});
}
void LedgerCopier::OnShown(uint8_t view, const NameBinding& pair) {
  Put(ledger_format::ShownRecord(view, pair, next()));
}
void LedgerCopier::OnBound(uint8_t view, const PackedPairs& pairs) {
  if (Finish().ok()) status_ = AppendBound(file_, view, pairs);
}
void LedgerCopier::OnOpens(uint8_t view, const LedgerOpens& opens) {
  Add(ledger_format::EncodeOpens(view, opens, next()));
}
void LedgerCopier::OnContainers(uint8_t view, const LedgerContainers& read) {
  Add(ledger_format::EncodeContainers(view, read, next()));
}
void LedgerCopier::OnHold(const LedgerHold& hold) {
  Add(ledger_format::Encode(hold, next()));
}
void LedgerCopier::OnSwitch(const LedgerSwitch& change) {
  Add(ledger_format::Encode(change, next()));
}

LedgerHistory::Kept* LedgerHistory::Running(uint8_t view) {
  if (!used_[view]) return nullptr;
  std::deque<Kept>& epochs = views_[path_of_[view]];
  // The view may have another number by now.
  if (epochs.empty() || epochs.back().pass.begin.view != view) return nullptr;
  return &epochs.back();
}

void LedgerHistory::Begin(Kept next) {
  std::deque<Kept>& epochs = views_[next.pass.begin.view_path];
  epochs.push_back(std::move(next));
  uint64_t pair_bytes = 0;
  for (const Kept& kept : epochs) pair_bytes += PairBytes(kept.pass);
  while (epochs.size() > std::max<uint64_t>(keep_.epochs, 1) ||
         (pair_bytes > keep_.pair_bytes && epochs.size() > kAlwaysKept)) {
    pair_bytes -= PairBytes(epochs.front().pass);
    epochs.pop_front();
  }
}

void LedgerHistory::OnEpoch(const LedgerEpoch& epoch) {
  path_of_[epoch.view] = epoch.view_path;
  used_[epoch.view] = true;
  std::deque<Kept>& epochs = views_[epoch.view_path];
  Kept next{LedgerPass(epoch), {}};
  next.pass.begin.continues = false;
  if (!epochs.empty() && Supersedes(epoch, epochs.back().pass.begin)) {
    next.switches = std::move(epochs.back().switches);
    epochs.pop_back();
  }
  if (!epochs.empty()) epochs.back().pass.EndBefore(epoch);
  Begin(std::move(next));
}

void LedgerHistory::OnConsumed(uint8_t view, uint64_t sample) {
  if (Kept* running = Running(view)) running->pass.Consumed(sample);
}

void LedgerHistory::OnShown(uint8_t view, const NameBinding& pair) {
  if (Kept* running = Running(view)) running->pass.ConsumedUnder(pair);
}

void LedgerHistory::OnBound(uint8_t view, const PackedPairs& pairs) {
  if (Kept* running = Running(view)) running->pass.Bound(pairs);
}

void LedgerHistory::OnOpens(uint8_t view, const LedgerOpens& opens) {
  if (Kept* running = Running(view)) running->pass.Opened(opens);
}

void LedgerHistory::OnContainers(uint8_t view, const LedgerContainers& read) {
  if (Kept* running = Running(view)) running->pass.ReadWhole(read);
}

void LedgerHistory::OnHold(const LedgerHold& hold) {
  Kept* running = Running(hold.view);
  if (running == nullptr) return;
  LedgerPass next = running->pass.Held(hold);
  running->pass.EndHeld();
  Begin({std::move(next), {}});
}

void LedgerHistory::OnSwitch(const LedgerSwitch& change) {
  Kept* running = Running(change.view);
  if (running == nullptr || running->switches.size() >= kMaxNotes) return;
  running->switches.push_back(change);
}

absl::flat_hash_map<uint8_t, std::string> LedgerHistory::running() const {
  absl::flat_hash_map<uint8_t, std::string> running;
  for (const auto& [path, epochs] : views_) {
    const uint8_t view = epochs.back().pass.begin.view;
    if (path_of_[view] == path) running[view] = path;
  }
  return running;
}

absl::Status LedgerHistory::WriteTo(AppendLog& file) {
  std::vector<std::string> order;
  order.reserve(views_.size());
  for (const auto& [path, epochs] : views_) order.push_back(path);
  // A view that lost its number comes before the view that has it now.
  absl::flat_hash_set<std::string> runs;
  for (const auto& [view, path] : running()) runs.insert(path);
  std::sort(order.begin(), order.end(),
            [&](const std::string& a, const std::string& b) {
              const bool a_runs = runs.contains(a), b_runs = runs.contains(b);
              return a_runs != b_runs ? b_runs : a < b;
            });
  for (const std::string& path : order) {
    std::deque<Kept>& epochs = views_[path];
    // Uses the view's current number, because another view may have its former
    // one.
    const uint8_t view = epochs.back().pass.begin.view;
    for (Kept& kept : epochs) {
      kept.pass.begin.view = view;
      kept.pass.Trim();
      RETURN_IF_ERROR(AppendPass(file, kept.pass));
      for (LedgerSwitch& change : kept.switches) {
        change.view = view;
        RETURN_IF_ERROR(AppendRecord(file, change));
      }
    }
  }
  return absl::OkStatus();
}

absl::optional<LedgerState> LedgerHistory::Find(
    absl::string_view view_path,
    absl::FunctionRef<bool(const LedgerPass&)> fits) {
  const auto epochs = views_.find(view_path);
  if (epochs == views_.end()) return absl::nullopt;
  for (auto kept = epochs->second.rbegin(); kept != epochs->second.rend();
       ++kept) {
    kept->pass.Trim();
    if (fits(kept->pass)) return kept->pass.State();
  }
  return absl::nullopt;
}

absl::flat_hash_map<std::string, LedgerState> LedgerHistory::TakeLast() {
  absl::flat_hash_map<std::string, LedgerState> last;
  for (auto& [path, epochs] : views_) {
    if (epochs.empty()) continue;
    epochs.back().pass.Trim();
    last[path] = epochs.back().pass.State();
  }
  views_.clear();
  return last;
}

}  // namespace shufflefs
