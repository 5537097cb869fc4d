// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/testbed/simulated_reads.h"

#include <functional>
#include <queue>
#include <vector>

namespace shufflefs {

Nanos TimeOfReads(DeviceModel& model, absl::Span<const DeviceRequest> reads,
                  size_t depth) {
  std::vector<DeviceRequest> waiting;
  std::priority_queue<Nanos, std::vector<Nanos>, std::greater<>> answers;
  Nanos now(0);
  for (size_t next = 0;
       next < reads.size() || !waiting.empty() || !answers.empty();) {
    while (next < reads.size() && waiting.size() + answers.size() < depth) {
      waiting.push_back(reads[next++]);
      waiting.back().arrival = now;
    }
    while (!waiting.empty() && answers.size() < model.servers()) {
      const size_t chosen = model.Choose(waiting, now);
      answers.push(model.Serve(waiting[chosen], now));
      waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(chosen));
    }
    now = answers.top();
    answers.pop();
  }
  return now;
}

}  // namespace shufflefs
