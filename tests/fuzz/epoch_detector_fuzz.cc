// SPDX-License-Identifier: Apache-2.0
// Any stream of opens: no crash, a re-binding only with what the rules ask for,
// and retained names that were opened.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/epoch/epoch_detector.h"
#include "core/epoch/split_suspicion.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

void CheckRebind(uint64_t names, const EpochOutcome& outcome, uint64_t name,
                 uint64_t expected) {
  Require(outcome.retained.size() <= std::clamp<uint64_t>(names / 3, 16, 8192));
  absl::flat_hash_set<uint64_t> retained(outcome.retained.begin(),
                                         outcome.retained.end());
  Require(retained.size() == outcome.retained.size());
  Require(retained.contains(name));
  for (const uint64_t kept : retained) Require(kept < names);
  if (outcome.rule != 't') Require(10 * outcome.ended_seen >= 9 * expected);
}

void Play(Input input) {
  EpochDetector::Options options;
  options.names = 1 + input.Byte() + (uint64_t{input.Byte()} << 4);
  options.epoch_length = input.Byte() % 4 == 0 ? input.Byte() : 0;
  options.pad = input.Byte();
  EpochDetector detector(options);
  SplitSuspicion suspicion({options.names, 4, options.epoch_length > 0});
  std::chrono::milliseconds now{0};
  uint64_t next = 0;
  while (!input.empty()) {
    const uint8_t what = input.Byte();
    const uint64_t run = what % 2 == 0 ? 1 : 1 + input.Byte();
    const uint64_t jump = input.Byte();
    if (what % 32 == 31) {
      const EpochOutcome outcome = detector.OnSignal();
      Require(outcome.retained.empty() && detector.seen_count() == 0);
      continue;
    }
    if (what % 4 >= 2) next = jump * 17;
    for (uint64_t i = 0; i < run; ++i) {
      now += std::chrono::milliseconds(jump * 16);
      const uint64_t name = next++ % options.names;
      const uint64_t expected = detector.expected();
      const EpochOutcome outcome = detector.OnOpen(
          {name, JobId(what / 64), uint32_t{what} / 16u, now},
          [&](JobId family) { return (jump >> family.value() & 1) != 0; });
      Require(detector.seen_count() <= options.names);
      suspicion.OnOpen({name, static_cast<uint32_t>(name % 4),
                        uint32_t{what} / 16u,
                        outcome.open == OpenClass::kFresh});
      if (outcome.verdict == Verdict::kNone) continue;
      suspicion.AtBoundary(outcome.rule, outcome.ended_seen,
                           detector.seen_count());
      if (outcome.verdict == Verdict::kRebind) {
        CheckRebind(options.names, outcome, name, expected);
      } else {
        Require(outcome.retained.empty() &&
                outcome.reason != HoldReason::kNone);
      }
      uint64_t seen = 0;
      detector.ForEachSeen([&](uint64_t) { ++seen; });
      Require(seen == detector.seen_count());
    }
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Play(shufflefs::Input(data, size));
  return 0;
}
