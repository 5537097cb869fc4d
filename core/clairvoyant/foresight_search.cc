// SPDX-License-Identifier: Apache-2.0
// What a foresight does with idle processors, and what it tells of itself.
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clairvoyant/foresight.h"
#include "core/clairvoyant/generator_search.h"
#include "core/clairvoyant/loader_epochs.h"
#include "core/clairvoyant/seed_search.h"

namespace shufflefs {
namespace {

// Slices take about a millisecond.
constexpr uint64_t kSliceSeeds = uint64_t{1} << 15;
constexpr uint64_t kSliceOutputs = uint64_t{1} << 18;
// Of a generator's stream: a model of a hundred million weights may have been
// made before.
constexpr uint64_t kEarlyOutputs = 64;
constexpr uint64_t kUsualOutputs = uint64_t{1} << 26;

// What the slices of a search share.
struct SeedsUnderWay {
  explicit SeedsUnderWay(SeedQuery query) : search(std::move(query)) {}

  const SeedSearch search;
  const std::chrono::steady_clock::time_point begun =
      std::chrono::steady_clock::now();
  Mutex mu;
  std::optional<uint32_t> found ABSL_GUARDED_BY(mu);
};

// Streams of generators that were seeded in a usual way, piece by piece.
struct StreamsUnderWay {
  struct One {
    explicit One(uint64_t seed) : stream(seed) {}

    Mutex mu;
    GeneratorStream stream ABSL_GUARDED_BY(mu);
  };

  explicit StreamsUnderWay(const std::vector<uint64_t>& seeds) {
    for (const uint64_t seed : seeds) streams.emplace_back(seed);
  }

  // Slices of one stream are far apart, so that no thread waits.
  std::vector<GeneratorPlace> Slice(uint64_t slice, uint32_t number) {
    One& one = streams[slice % streams.size()];
    MutexLock lock(one.mu);
    return one.stream.Find(number, kSliceOutputs);
  }

  std::deque<One> streams;
};

}  // namespace

void Foresight::SearchSeeds() {
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

bool Foresight::IsSearchOfUse() const {
  const JobFinder::Found* const found = jobs_.Find(idle_for_.job);
  if (found == nullptr) return false;
  return idle_for_.drawn ? found->job.AwaitsGenerator(*idle_for_.drawn)
                         : found->job.AwaitsSearch(idle_for_.epoch);
}

std::vector<uint64_t> Foresight::GeneratorSeeds() const {
  std::vector<uint64_t> seeds = seeds_;
  const std::vector<uint64_t>& known = KnownGeneratorSeeds();
  seeds.insert(seeds.end(), known.begin(), known.end());
  return seeds;
}

// So little that it is done at once.
void Foresight::FindEarly(JobFinder::Found& found) {
  const std::optional<DrawnSeed> drawn = found.job.WantsEarlyGenerators();
  if (!drawn) return;
  for (const uint64_t seed : GeneratorSeeds()) {
    for (const GeneratorPlace& place :
         GeneratorStream(seed).Find(drawn->seed, kEarlyOutputs)) {
      found.job.FoundGenerator(*drawn, place);
    }
  }
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
      idle_for_ = {};
      if (JobFinder::Found* const found = jobs_.Find(job)) {
        found->search_seconds = time.count();
        found->job.Searched(epoch, seed);
      }
    }
    Wake();  // readers may be busy with what they have read so far
  };
  if (!idle_.Begin(std::move(task))) return false;
  idle_for_ = {job, search.epoch, absl::nullopt};
  return true;
}

bool Foresight::BeginGenerators(uint64_t job,
                                const FollowedJob::GeneratorQuery& query) {
  const uint32_t number = query.drawn.seed;
  const auto streams = std::make_shared<StreamsUnderWay>(GeneratorSeeds());
  IdleWork::Task task;
  std::function<std::vector<GeneratorPlace>(uint64_t, const std::atomic<bool>&)>
      find;
  if (query.of_all) {
    task.slices = GeneratorSearch::kSeeds / kSliceSeeds;
    find = [search = GeneratorSearch(number)](uint64_t slice,
                                              const std::atomic<bool>& over) {
      const uint64_t begin = slice * kSliceSeeds;
      return search.Slice(begin, begin + kSliceSeeds, over);
    };
  } else {
    task.slices = kUsualOutputs / kSliceOutputs * streams->streams.size();
    find = [streams, number](uint64_t slice, const std::atomic<bool>&) {
      return streams->Slice(slice, number);
    };
  }
  task.slice = [this, job, find, drawn = query.drawn](
                   uint64_t slice, const std::atomic<bool>& over) {
    const std::vector<GeneratorPlace> places = find(slice, over);
    if (!places.empty()) Found(job, drawn, places);
    return false;  // whether that was the right one shows later
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

void Foresight::Found(uint64_t job, const DrawnSeed& drawn,
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
