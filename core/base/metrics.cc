// SPDX-License-Identifier: Apache-2.0
#include "core/base/metrics.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shufflefs {
namespace {

struct Row {
  const char* name;
  const char* help;
};

constexpr Row kCounters[] = {
    {"shufflefs_lookups_total", "names looked up by the kernel"},
    {"shufflefs_getattrs_total", "attribute requests"},
    {"shufflefs_opens_total", "opens that reached the daemon"},
    {"shufflefs_reads_total", "reads that reached the daemon"},
    {"shufflefs_readdirs_total", "directory reads"},
    {"shufflefs_served_bytes_total", "bytes given to the kernel"},
    {"shufflefs_errors_total", "requests that failed unexpectedly"},
    {"shufflefs_stale_opens_total", "opens sent back to look up again"},
    {"shufflefs_epoch_switches_total", "times that names were bound anew"},
    {"shufflefs_pinned_files_total",
     "files whose pages were kept across an epoch switch"},
    {"shufflefs_primed_names_total",
     "names bound by a listing after an epoch switch"},
    {"shufflefs_backed_opens_total",
     "opens after which the kernel reads the file by itself"},
    {"shufflefs_backed_bytes_total",
     "sizes of the files of these opens; what is read of them is not counted"},
};
static_assert(std::size(kCounters) == static_cast<size_t>(Counter::kCount));

constexpr Row kLatencies[] = {
    {"shufflefs_lookup_seconds", "time to answer a lookup"},
    {"shufflefs_open_seconds", "time to answer an open"},
    {"shufflefs_read_seconds", "time to answer a read"},
    {"shufflefs_readdir_seconds", "time to answer a directory read"},
};
static_assert(std::size(kLatencies) == static_cast<size_t>(Latency::kCount));

}  // namespace

void Metrics::Observe(Latency latency, std::chrono::nanoseconds took) {
  Histogram& histogram = histograms_[static_cast<int>(latency)];
  const uint64_t us = std::max<int64_t>(took.count(), 0) / 1000;
  const int bucket = std::min<int>(std::bit_width(us), kBuckets);
  histogram.buckets[bucket].fetch_add(1, std::memory_order_relaxed);
  histogram.sum_ns.fetch_add(took.count(), std::memory_order_relaxed);
}

std::string Metrics::Prometheus() const {
  std::string text;
  for (size_t i = 0; i < std::size(kCounters); ++i) {
    absl::StrAppend(&text, "# HELP ", kCounters[i].name, " ",
                    kCounters[i].help, "\n# TYPE ", kCounters[i].name,
                    " counter\n", kCounters[i].name, " ",
                    Get(static_cast<Counter>(i)), "\n");
  }
  const StallClock::Times times = stall_.Read();
  for (const auto& [name, help, seconds] :
       {std::tuple("shufflefs_stall_seconds_total",
                   "time in which a reader waited for the source",
                   times.stalled_seconds),
        std::tuple("shufflefs_consumer_seconds_total",
                   "time since the first read in which no reader waited",
                   times.consumer_seconds)}) {
    absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name,
                    " counter\n", name, " ", seconds, "\n");
  }
  for (size_t i = 0; i < std::size(kLatencies); ++i) {
    const Histogram& histogram = histograms_[i];
    const char* name = kLatencies[i].name;
    absl::StrAppend(&text, "# HELP ", name, " ", kLatencies[i].help,
                    "\n# TYPE ", name, " histogram\n");
    uint64_t sum = 0;
    for (int b = 0; b < kBuckets; ++b) {
      sum += histogram.buckets[b].load(std::memory_order_relaxed);
      absl::StrAppendFormat(&text, "%s_bucket{le=\"%g\"} %d\n", name,
                            static_cast<double>(uint64_t{1} << b) * 1e-6, sum);
    }
    sum += histogram.buckets[kBuckets].load(std::memory_order_relaxed);
    absl::StrAppendFormat(
        &text, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name,
        sum, name,
        histogram.sum_ns.load(std::memory_order_relaxed) * 1e-9, name, sum);
  }
  return text;
}

void StallClock::Enter() {
  MutexLock lock(mu_);
  const Clock::time_point now = Clock::now();
  if (!started_) first_ = now;
  started_ = true;
  last_ = now;
  if (waiting_++ == 0) since_ = now;
}

void StallClock::Leave() {
  MutexLock lock(mu_);
  last_ = Clock::now();
  if (--waiting_ == 0) stalled_ += last_ - since_;
}

void StallClock::Served() {
  MutexLock lock(mu_);
  last_ = Clock::now();
  if (!started_) first_ = last_;
  started_ = true;
}

StallClock::Times StallClock::Read() const {
  MutexLock lock(mu_);
  Times times;
  if (!started_) return times;
  Clock::duration stalled = stalled_;
  Clock::time_point end = last_;
  if (waiting_ > 0) {
    end = Clock::now();
    stalled += end - since_;
  }
  times.stalled_seconds = std::chrono::duration<double>(stalled).count();
  times.consumer_seconds =
      std::chrono::duration<double>(end - first_ - stalled).count();
  return times;
}

}  // namespace shufflefs
