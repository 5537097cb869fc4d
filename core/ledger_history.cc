// SPDX-License-Identifier: Apache-2.0
#include "core/ledger_history.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"

namespace shufflefs {
namespace {

constexpr size_t kSetPart = 1 << 16;  // words of a set in one record

}  // namespace

absl::Status AppendState(WordFile& file, const LedgerState& state) {
  RETURN_IF_ERROR(AppendRecord(file, state.begin));
  absl::Span<const SampleBits> rest = state.consumed.bits();
  while (!rest.empty()) {
    const auto part = rest.subspan(0, kSetPart);
    rest.remove_prefix(part.size());
    ASSIGN_OR_RETURN(
        const auto words,
        ledger_format::EncodeConsumedSet(state.begin.view, part, file.size()));
    RETURN_IF_ERROR(file.Append(words));
  }
  return absl::OkStatus();
}

void LedgerCopier::OnEpoch(const LedgerEpoch& epoch) {
  if (status_.ok()) status_ = AppendRecord(file_, epoch);
}
void LedgerCopier::OnConsumed(uint8_t view, uint64_t sample) {
  if (!status_.ok()) return;
  status_ =
      file_.Append(ledger_format::ConsumedWord(view, sample, file_.size()));
}
void LedgerCopier::OnHold(const LedgerHold& hold) {
  if (status_.ok()) status_ = AppendRecord(file_, hold);
}
void LedgerCopier::OnSwitch(const LedgerSwitch& change) {
  if (status_.ok()) status_ = AppendRecord(file_, change);
}

LedgerHistory::Kept* LedgerHistory::Running(uint8_t view) {
  if (!used_[view]) return nullptr;
  std::deque<Kept>& epochs = views_[path_of_[view]];
  return epochs.empty() ? nullptr : &epochs.back();
}

void LedgerHistory::Begin(Kept next) {
  std::deque<Kept>& epochs = views_[next.state.begin.view_path];
  if (!epochs.empty()) epochs.back().state.consumed.Settle();
  epochs.push_back(std::move(next));
  while (epochs.size() > keep_) epochs.pop_front();
}

void LedgerHistory::OnEpoch(const LedgerEpoch& epoch) {
  path_of_[epoch.view] = epoch.view_path;
  used_[epoch.view] = true;
  Kept next;
  next.state.begin = epoch;
  Begin(std::move(next));
}

void LedgerHistory::OnConsumed(uint8_t view, uint64_t sample) {
  if (Kept* running = Running(view)) running->state.consumed.Add(sample);
}

void LedgerHistory::OnHold(const LedgerHold& hold) {
  const Kept* running = Running(hold.view);
  if (running == nullptr) return;
  Kept next;
  next.state.begin = running->state.begin;
  next.state.begin.epoch = hold.epoch;
  Begin(std::move(next));
}

void LedgerHistory::OnSwitch(const LedgerSwitch& change) {
  Kept* running = Running(change.view);
  if (running == nullptr || running->switches.size() >= kMaxNotes) return;
  running->switches.push_back(change);
}

absl::Status LedgerHistory::WriteTo(WordFile& file) {
  std::vector<std::string> order;
  order.reserve(views_.size());
  for (const auto& [path, epochs] : views_) order.push_back(path);
  // A view that has lost its number goes before the one that has it now.
  const auto running = [this](const std::string& path) {
    const uint8_t view = views_[path].back().state.begin.view;
    return path_of_[view] == path;
  };
  std::sort(order.begin(), order.end(),
            [&](const std::string& a, const std::string& b) {
              const bool a_runs = running(a), b_runs = running(b);
              return a_runs != b_runs ? b_runs : a < b;
            });
  for (const std::string& path : order) {
    for (Kept& kept : views_[path]) {
      kept.state.consumed.Settle();
      RETURN_IF_ERROR(AppendState(file, kept.state));
      for (const auto& change : kept.switches) {
        RETURN_IF_ERROR(AppendRecord(file, change));
      }
    }
  }
  return absl::OkStatus();
}

absl::flat_hash_map<std::string, LedgerState> LedgerHistory::TakeLast() {
  absl::flat_hash_map<std::string, LedgerState> last;
  for (auto& [path, epochs] : views_) {
    if (epochs.empty()) continue;
    epochs.back().state.consumed.Settle();
    last[path] = std::move(epochs.back().state);
  }
  views_.clear();
  return last;
}

}  // namespace shufflefs
