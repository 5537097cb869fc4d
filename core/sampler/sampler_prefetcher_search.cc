// SPDX-License-Identifier: Apache-2.0
// The idle work of SamplerPrefetcher, and its status.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/sampler/sampler_prefetcher.h"
#include "core/sampler/search/generator_search.h"
#include "core/sampler/search/generator_seeds.h"
#include "core/sampler/search/seed_search.h"

namespace shufflefs {
namespace {

// The state that the slices of a search share.
struct SeedsUnderWay {
  explicit SeedsUnderWay(SeedQuery query) : search(std::move(query)) {}

  const SeedSearch search;
  const std::chrono::steady_clock::time_point begun =
      std::chrono::steady_clock::now();
  Mutex mu;
  std::optional<uint32_t> found ABSL_GUARDED_BY(mu);
};

}  // namespace

void SamplerPrefetcher::SearchSeeds() {
  for (JobFinder::Found& found : jobs_.jobs()) FindEarly(found);
  if (!searches_) return;
  if (idle_for_.job != 0) {
    if (!IsSearchOfUse()) idle_.GiveUp();
    return;
  }
  for (JobFinder::Found& found : jobs_.jobs()) {
    const auto query = found.job.WantsGenerator();
    if (query && BeginGenerators(found.id, *query)) return;
    std::optional<FollowedJob::Search> search = found.job.WantsSearch();
    if (search && BeginSearch(found.id, *std::move(search))) return;
  }
}

bool SamplerPrefetcher::IsSearchOfUse() const {
  const JobFinder::Found* const found = jobs_.Find(idle_for_.job);
  if (found == nullptr) return false;
  return idle_for_.drawn ? found->job.AwaitsGenerator(*idle_for_.drawn)
                         : found->job.AwaitsSearch(idle_for_.epoch);
}

std::vector<uint64_t> SamplerPrefetcher::GeneratorSeeds() const {
  std::vector<uint64_t> seeds = seeds_;
  const std::vector<uint64_t>& known = KnownGeneratorSeeds();
  seeds.insert(seeds.end(), known.begin(), known.end());
  return seeds;
}

// Runs at once because it is short.
void SamplerPrefetcher::FindEarly(JobFinder::Found& found) {
  const std::optional<DrawnSeed> drawn = found.job.WantsEarlyGenerators();
  if (!drawn) return;
  for (const uint64_t seed : GeneratorSeeds()) {
    for (const GeneratorPlace& place :
         GeneratorStream(seed).Find(drawn->seed, GeneratorSearch::kOutputs)) {
      found.job.FoundGenerator(*drawn, place);
    }
  }
}

bool SamplerPrefetcher::BeginSearch(uint64_t job, FollowedJob::Search search) {
  const auto shared = std::make_shared<SeedsUnderWay>(std::move(search.query));
  IdleWork::Task task;
  task.slices = SeedSearch::kSlices;
  task.slice = [shared](uint64_t slice, const std::atomic<bool>& over) {
    const uint64_t begin = slice * SeedSearch::kSliceSeeds;
    const std::vector<uint32_t> seeds =
        shared->search.Slice(begin, begin + SeedSearch::kSliceSeeds, over);
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
      idle_for_ = {};
      if (JobFinder::Found* const found = jobs_.Find(job)) {
        // A search that was given up does not show how long they take.
        if (seed || found->job.AwaitsSearch(epoch)) {
          found->search_seconds = time.count();
        }
        found->job.Searched(epoch, seed);
      }
    }
    Wake();  // readers may open no new file for a while
  };
  if (!idle_.Begin(std::move(task))) return false;
  idle_for_ = {job, search.epoch, absl::nullopt};
  return true;
}

bool SamplerPrefetcher::BeginGenerators(
    uint64_t job, const FollowedJob::GeneratorQuery& query) {
  const auto slices = std::make_shared<GeneratorSlices>(
      query.drawn.seed,
      GeneratorSlices::Options{.usual = GeneratorSeeds(), .all = query.of_all});
  IdleWork::Task task;
  task.slices = slices->count();
  task.slice = [this, job, slices, drawn = query.drawn](
                   uint64_t slice, const std::atomic<bool>& over) {
    const std::vector<GeneratorPlace> places = slices->Slice(slice, over);
    if (!places.empty()) Found(job, drawn, places);
    return false;  // a later epoch shows whether it was the right one
  };
  task.ended = [this] {
    {
      MutexLock lock(jobs_mu_);
      idle_for_ = {};
    }
    Wake();
  };
  if (!idle_.Begin(std::move(task))) return false;
  idle_for_ = {job, 0, query.drawn};
  return true;
}

void SamplerPrefetcher::Found(uint64_t job, const DrawnSeed& drawn,
                              const std::vector<GeneratorPlace>& places) {
  {
    MutexLock lock(jobs_mu_);
    JobFinder::Found* const found = jobs_.Find(job);
    if (found == nullptr) return;
    for (const GeneratorPlace& place : places) {
      found->job.FoundGenerator(drawn, place);
    }
  }
  Wake();
}

ProducerStatus SamplerPrefetcher::status() const {
  ProducerStatus status = files_->status();
  status.how = absl::StrCat(how_, "; ", status.how);
  status.hits = hits_.load(std::memory_order_relaxed);
  status.misses = misses_.load(std::memory_order_relaxed);
  return status;
}

SamplerPrefetcherStatus SamplerPrefetcher::prefetcher() const {
  SamplerPrefetcherStatus status;
  status.prefetched_bytes = files_->fetched_bytes();
  status.wasted_bytes = files_->wasted_bytes();
  const absl::optional<IdleWork::Progress> progress = idle_.progress();
  MutexLock lock(jobs_mu_);
  if (!jobs_.warning().empty()) status.warnings.push_back(jobs_.warning());
  status.opens = foreseen_opens_;
  status.ready = foreseen_opens_ - std::min(foreseen_opens_, missed_opens_);
  for (const JobFinder::Found& found : jobs_.jobs()) {
    SamplerPrefetcherStatus::Job job{
        found.job.status(), {}, found.search_seconds};
    if (found.id == idle_for_.job && !idle_for_.drawn && progress) {
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
