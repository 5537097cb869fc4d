// SPDX-License-Identifier: Apache-2.0
// Runs the same work on many items with several threads.
#ifndef SHUFFLEFS_CORE_BASE_PARALLEL_H_
#define SHUFFLEFS_CORE_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>
#include <string>

namespace shufflefs {

// Two per core and at least 8. If each call is a round trip to a server,
// threads hide the latency. `wanted` > 0 overrides this.
int ThreadsForSource(int wanted);

struct ParallelOptions {
  int threads = 0;          // 0 = ThreadsForSource
  uint64_t chunk = 64;      // items per call
  std::string name = "io";  // name of the threads
};

// Calls work(begin, end) for consecutive ranges that cover [0, count), from
// several threads at once. Returns when all calls have returned. No call begins
// after one returned false or threw; the first exception is thrown to the
// caller. Uses fewer threads if the system gives no more.
void ParallelFor(uint64_t count, const ParallelOptions& options,
                 const std::function<bool(uint64_t begin, uint64_t end)>& work);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_PARALLEL_H_
