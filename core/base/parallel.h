// SPDX-License-Identifier: Apache-2.0
// The same work on many items, by several threads.
#ifndef SHUFFLEFS_CORE_BASE_PARALLEL_H_
#define SHUFFLEFS_CORE_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>
#include <string>

namespace shufflefs {

// Two a core and at least 8: where each call is a round trip to a server,
// threads are what hides it. `wanted` > 0 overrides.
int ThreadsForSource(int wanted);

struct ParallelOptions {
  int threads = 0;          // 0 = ThreadsForSource
  uint64_t chunk = 64;      // items a call
  std::string name = "io";  // of the threads
};

// Calls work(begin, end) for consecutive ranges that cover [0, count), from
// several threads at once; returns when all calls have. No call begins after
// one returned false or threw; what was thrown first is thrown to the caller.
// With fewer threads where the system gives no more.
void ParallelFor(uint64_t count, const ParallelOptions& options,
                 const std::function<bool(uint64_t begin, uint64_t end)>& work);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_PARALLEL_H_
