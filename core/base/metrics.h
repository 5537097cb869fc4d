// SPDX-License-Identifier: Apache-2.0
// Every counter and histogram of the daemon. A table declares each once, with
// name, unit and help. The Prometheus text and `status` are rendered from it.
#ifndef SHUFFLEFS_CORE_BASE_METRICS_H_
#define SHUFFLEFS_CORE_BASE_METRICS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace shufflefs {

enum class Counter : int {
  kLookups,
  kGetattrs,
  kOpens,
  kReads,
  kReaddirs,
  kServedBytes,
  kErrors,
  kStaleOpens,
  kEpochSwitches,
  kPinnedFiles,
  kPrimedNames,
  kBackedOpens,
  kBackedBytes,
  kCount
};

enum class Latency : int { kLookup, kOpen, kRead, kReaddir, kCount };

// StallClock measures the wall time in which at least one reader waited for the
// source, and the time since the first wait in which no reader waited.
// Thread-safe.
class StallClock {
 public:
  void Enter();
  void Leave();
  // A reader got its answer without waiting.
  void Served();
  struct Times {
    double stalled_seconds = 0;
    double consumer_seconds = 0;
  };
  Times Read() const;

 private:
  using Clock = std::chrono::steady_clock;
  mutable Mutex mu_;
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  Clock::time_point first_ ABSL_GUARDED_BY(mu_);
  Clock::time_point last_ ABSL_GUARDED_BY(mu_);   // last Enter or Leave
  Clock::time_point since_ ABSL_GUARDED_BY(mu_);  // stall began
  Clock::duration stalled_ ABSL_GUARDED_BY(mu_){0};
};

// Thread-safe. Adding is wait-free.
class Metrics {
 public:
  // Bucket b counts values below 2^b microseconds; the last bucket counts all
  // larger ones.
  static constexpr int kBuckets = 24;

  void Add(Counter counter, uint64_t value = 1) {
    counters_[static_cast<int>(counter)].fetch_add(value,
                                                   std::memory_order_relaxed);
  }
  uint64_t Get(Counter counter) const {
    return counters_[static_cast<int>(counter)].load(std::memory_order_relaxed);
  }
  void Observe(Latency latency, std::chrono::nanoseconds took);

  StallClock& stall() { return stall_; }
  const StallClock& stall() const { return stall_; }

  // Prometheus text format, version 0.0.4.
  std::string Prometheus() const;

 private:
  struct Histogram {
    std::array<std::atomic<uint64_t>, kBuckets + 1> buckets{};
    std::atomic<uint64_t> sum_ns{0};
  };
  std::array<std::atomic<uint64_t>, static_cast<int>(Counter::kCount)>
      counters_{};
  std::array<Histogram, static_cast<int>(Latency::kCount)> histograms_{};
  StallClock stall_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_METRICS_H_
