// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

// Keeps the first exception of several threads.
class Thrown {
 public:
  void Keep(std::exception_ptr exception) {
    MutexLock lock(mu_);
    if (first_ == nullptr) first_ = std::move(exception);
  }
  void Rethrow() {
    MutexLock lock(mu_);
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  Mutex mu_;
  std::exception_ptr first_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

int ThreadsForSource(int wanted) {
  if (wanted > 0) return wanted;
  return std::max(8, 2 * static_cast<int>(std::thread::hardware_concurrency()));
}

ParallelOptions ParallelOptions::ToCompute(std::string name) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return {.threads = std::max(1, cores), .chunk = 16, .name = std::move(name)};
}

void ParallelFor(
    uint64_t count, const ParallelOptions& options,
    const std::function<bool(uint64_t begin, uint64_t end)>& work) {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> ended{false};
  Thrown thrown;
  auto run = [&](std::stop_token) {
    try {
      while (!ended.load(std::memory_order_relaxed)) {
        uint64_t begin = next.fetch_add(options.chunk);
        if (begin >= count) return;
        if (!work(begin, std::min(count, begin + options.chunk))) {
          ended.store(true, std::memory_order_relaxed);
        }
      }
    } catch (...) {
      ended.store(true, std::memory_order_relaxed);
      thrown.Keep(std::current_exception());
    }
  };
  uint64_t chunks = (count + options.chunk - 1) / options.chunk;
  auto threads = std::min<uint64_t>(
      chunks, static_cast<uint64_t>(ThreadsForSource(options.threads)));
  std::vector<std::jthread> workers;
  for (uint64_t i = 1; i < threads; ++i) {
    auto worker = TryStartThread(absl::StrCat(options.name, "-", i), run);
    if (!worker) break;  // the other threads do its share
    workers.push_back(*std::move(worker));
  }
  run(std::stop_token());
  workers.clear();  // joins
  thrown.Rethrow();
}

uint64_t ParallelFirst(uint64_t count, const ParallelOptions& options,
                       const std::function<bool(uint64_t index)>& holds) {
  std::atomic<uint64_t> first{count};
  ParallelFor(count, options, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end && i < first.load(); ++i) {
      if (!holds(i)) continue;
      uint64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return false;  // lower ranges have begun already
    }
    return true;
  });
  return first.load();
}

}  // namespace shufflefs
