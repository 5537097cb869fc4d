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

  // One thread per core, for work on directories that waits for nothing.
  static ParallelOptions ToCompute(std::string name);
};

// Calls work(begin, end) for consecutive ranges that cover [0, count), from
// several threads at once. Returns when all calls have returned. No call begins
// after one returned false or threw; the first exception is thrown to the
// caller. Uses fewer threads if the system gives no more.
void ParallelFor(uint64_t count, const ParallelOptions& options,
                 const std::function<bool(uint64_t begin, uint64_t end)>& work);

// The lowest index below `count` that `holds`, or `count`. Asks for each lower
// one, and for some higher ones, from several threads at once.
uint64_t ParallelFirst(uint64_t count, const ParallelOptions& options,
                       const std::function<bool(uint64_t index)>& holds);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_PARALLEL_H_
