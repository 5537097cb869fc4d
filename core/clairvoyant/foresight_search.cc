// SPDX-License-Identifier: Apache-2.0
// What a foresight does with idle processors, and what it tells of itself.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clairvoyant/foresight.h"
#include "core/clairvoyant/loader_epochs.h"
#include "core/clairvoyant/seed_search.h"

namespace shufflefs {
namespace {

constexpr uint64_t kSliceSeeds = uint64_t{1} << 15;  // about 1 ms

// What the slices of a search share.
struct SeedsUnderWay {
  explicit SeedsUnderWay(SeedQuery query) : search(std::move(query)) {}

  const SeedSearch search;
  const std::chrono::steady_clock::time_point begun =
      std::chrono::steady_clock::now();
  Mutex mu;
  std::optional<uint32_t> found ABSL_GUARDED_BY(mu);
};

// The same of what looks for a generator.
struct TraceUnderWay {
  std::vector<uint64_t> seeds;
  FollowedJob::Pair pair;
  TraceLimits limits;
  Mutex mu;
  std::optional<GeneratorTrace> found ABSL_GUARDED_BY(mu);
};

}  // namespace

void Foresight::SearchSeeds() {
  if (!searches_) return;
  if (idle_for_ != 0) {
    if (!IsSearchOfUse()) idle_.GiveUp();
    return;
  }
  for (JobFinder::Found& found : jobs_.jobs()) {
    std::optional<FollowedJob::Pair> pair = found.job.WantsTrace();
    if (pair && BeginTrace(found.id, *std::move(pair))) return;
    std::optional<FollowedJob::Search> search = found.job.WantsSearch();
    if (search && BeginSearch(found.id, *std::move(search))) return;
  }
}

bool Foresight::IsSearchOfUse() const {
  const JobFinder::Found* const found = jobs_.Find(idle_for_);
  return found != nullptr &&
         (!idle_searches_ || found->job.AwaitsSearch(idle_epoch_));
}

bool Foresight::BeginSearch(uint64_t job, FollowedJob::Search search) {
  const auto shared = std::make_shared<SeedsUnderWay>(std::move(search.query));
  IdleWork::Task task;
  task.slices = SeedSearch::kSeeds / kSliceSeeds;
  task.slice = [shared](uint64_t slice, const std::atomic<bool>& over) {
    const uint64_t begin = slice * kSliceSeeds;
    const std::vector<uint32_t> seeds =
        shared->search.Slice(begin, begin + kSliceSeeds, over);
    if (seeds.empty()) return false;
    MutexLock lock(shared->mu);
    shared->found = seeds.front();
    return true;
  };
  task.ended = [this, shared, job, epoch = search.epoch] {
    std::optional<uint32_t> seed;
    {
      MutexLock lock(shared->mu);
      seed = shared->found;
    }
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - shared->begun;
    {
      MutexLock lock(jobs_mu_);
      idle_for_ = 0;
      if (JobFinder::Found* const found = jobs_.Find(job)) {
        found->search_seconds = time.count();
        found->job.Searched(epoch, seed);
      }
    }
    Wake();  // readers may be busy with what they have read so far
  };
  if (!idle_.Begin(std::move(task))) return false;
  idle_for_ = job;
  idle_searches_ = true;
  idle_epoch_ = search.epoch;
  return true;
}

bool Foresight::BeginTrace(uint64_t job, FollowedJob::Pair pair) {
  const auto shared = std::make_shared<TraceUnderWay>();
  shared->seeds = seeds_;
  const std::vector<uint64_t>& known = KnownGeneratorSeeds();
  shared->seeds.insert(shared->seeds.end(), known.begin(), known.end());
  shared->limits.distance *= pair.apart;
  shared->pair = std::move(pair);
  IdleWork::Task task;
  task.slices = shared->seeds.size();
  task.slice = [shared](uint64_t slice, const std::atomic<bool>&) {
    const auto trace = TraceGenerator(shared->seeds[slice], shared->pair.seeds,
                                      shared->limits);
    if (!trace) return false;
    MutexLock lock(shared->mu);
    shared->found = trace;
    return true;
  };
  task.ended = [this, shared, job] {
    std::optional<GeneratorTrace> trace;
    {
      MutexLock lock(shared->mu);
      trace = shared->found;
    }
    {
      MutexLock lock(jobs_mu_);
      idle_for_ = 0;
      JobFinder::Found* const found = jobs_.Find(job);
      if (found != nullptr && trace) found->job.Traced(shared->pair, *trace);
    }
    Wake();
  };
  if (!idle_.Begin(std::move(task))) return false;
  idle_for_ = job;
  idle_searches_ = false;
  return true;
}

SupplyStatus Foresight::status() const {
  SupplyStatus status = files_->status();
  status.how = absl::StrCat(how_, "; ", status.how);
  status.hits = hits_.load(std::memory_order_relaxed);
  status.misses = misses_.load(std::memory_order_relaxed);
  return status;
}

ForesightStatus Foresight::foresight() const {
  ForesightStatus status;
  status.prefetched_bytes = files_->fetched_bytes();
  status.wasted_bytes = files_->wasted_bytes();
  const absl::optional<IdleWork::Progress> progress = idle_.progress();
  MutexLock lock(jobs_mu_);
  status.opens = foreseen_opens_;
  status.ready = ready_opens_;
  for (const JobFinder::Found& found : jobs_.jobs()) {
    ForesightStatus::Job job{found.job.status(), {}, found.search_seconds};
    if (found.id == idle_for_ && idle_searches_ && progress) {
      if (job.job.state != "recognised") job.job.state = "searching";
      job.searched = progress->share;
      job.search_seconds =
          std::chrono::duration<double>(progress->time).count();
    }
    if (!job.job.warning.empty()) status.warnings.push_back(job.job.warning);
    status.jobs.push_back(std::move(job));
  }
  return status;
}

}  // namespace shufflefs
