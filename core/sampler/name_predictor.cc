// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/name_predictor.h"

#include <algorithm>
#include <utility>

#include "core/base/thread.h"

namespace shufflefs {
namespace {

constexpr size_t kMostSeen = 1 << 14;  // that wait in the queue

// Enough for two jobs over all files.
uint64_t JobBytes(const Dataset& dataset) {
  return 2 * (dataset.catalogue().file_count() + JobFinder::kFewestFiles) *
         FollowedJob::kBytesPerFile;
}

}  // namespace

NamePredictor::NamePredictor(Parts parts)
    : parts_(std::move(parts)),
      jobs_(parts_.dataset, *parts_.job_tracker,
            {.seeds = {}, .memory_bytes = JobBytes(*parts_.dataset)}),
      thread_(StartThread("sfs-names",
                          [this](std::stop_token stop) { Run(stop); })) {}

void NamePredictor::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void NamePredictor::OnLookup(EntryId name, uint32_t reader,
                             std::chrono::milliseconds now) {
  // While the reader waits, /proc shows it; soon it may have ended.
  parts_.job_tracker->Resolve(reader, now);
  MutexLock lock(mu_);
  if (seen_.size() == kMostSeen) return;
  seen_.push_back({name, reader, now});
  if (seen_.size() == 1) has_seen_.SignalOne();
}

std::vector<NamePredictor::Seen> NamePredictor::TakeSeen(std::stop_token stop,
                                                         bool waits) {
  std::stop_callback wake(stop, [this] {
    MutexLock lock(mu_);
    has_seen_.SignalAll();
  });
  MutexLock lock(mu_);
  while (waits && seen_.empty() && !stop.stop_requested()) {
    has_seen_.Wait(mu_);
  }
  return std::exchange(seen_, {});
}

void NamePredictor::Run(std::stop_token stop) {
  bool more = false;
  while (!stop.stop_requested()) {
    for (const Seen& seen : TakeSeen(stop, /*waits=*/!more)) {
      jobs_.Opened(seen.name, seen.reader, seen.now);
    }
    // A little at a time: meanwhile the queue would overflow.
    more = jobs_.Work();
    for (JobFinder::Found& found : jobs_.jobs()) Predict(found);
  }
}

void NamePredictor::Predict(JobFinder::Found& found) {
  ReadPlan* const plan = found.job.plan();
  if (plan == nullptr) return;
  const uint64_t until = std::min(parts_.most, found.job.FilesToCome());
  const uint64_t ahead = plan->ahead();
  // In few questions, each about many.
  if (ahead > parts_.most / 2 || until <= ahead) return;
  const Grouping& grouping = parts_.dataset->grouping();
  std::vector<SampleId> names;
  for (const uint32_t index : plan->Next(until - ahead)) {
    const EntryId file = found.job.index().file(index);
    if (grouping.place(file)) names.push_back(grouping.sample(file));
  }
  if (!names.empty()) parts_.ask(names);
}

}  // namespace shufflefs
