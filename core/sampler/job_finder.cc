// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/job_finder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

uint64_t BytesOf(const FileIndex& index) {
  constexpr uint64_t kRest =
      FollowedJob::kBytesPerFile - FileIndex::kBytesPerFile;
  return index.memory_bytes() + index.size() * kRest;
}

std::string Mebibytes(uint64_t bytes) {
  return absl::StrCat((bytes + 0xfffff) >> 20, " MiB");
}

}  // namespace

JobFinder::JobFinder(std::shared_ptr<const Dataset> dataset,
                     JobTracker& job_tracker, const Options& options)
    : dataset_(std::move(dataset)),
      job_tracker_(job_tracker),
      memory_bytes_(options.memory_bytes),
      candidates_(std::make_shared<const std::vector<CandidateOrder>>(
          UsualCandidates({.seeds = options.seeds}))) {}

const JobFinder::Found* JobFinder::Find(uint64_t id) const {
  for (const Found& found : jobs_) {
    if (found.id == id) return &found;
  }
  return nullptr;
}

JobFinder::Found* JobFinder::Find(uint64_t id) {
  return const_cast<Found*>(std::as_const(*this).Find(id));
}

JobFinder::Readers JobFinder::ReadersOf(uint32_t reader,
                                        std::chrono::milliseconds now) {
  return {job_tracker_.Resolve(reader, now),
          job_tracker_.LoaderOf(reader, now)};
}

std::list<JobFinder::Found>::iterator JobFinder::Of(const Readers& readers,
                                                    EntryId file,
                                                    uint32_t& index) {
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const Found& found) {
    if (!IsOf(found.readers, readers)) return false;
    const std::optional<uint32_t> at = found.job.index().IndexOf(file);
    if (at) index = *at;
    return at.has_value();
  });
}

const JobFinder::Found* JobFinder::JobOf(EntryId file, uint32_t reader,
                                         std::chrono::milliseconds now) {
  uint32_t index = 0;
  const auto it = Of(ReadersOf(reader, now), file, index);
  return it == jobs_.end() ? nullptr : &*it;
}

JobFinder::Found* JobFinder::Opened(EntryId file, uint32_t reader,
                                    std::chrono::milliseconds now) {
  Readers readers = ReadersOf(reader, now);
  uint32_t index = 0;
  if (const auto it = Of(readers, file, index); it != jobs_.end()) {
    const uint64_t id = it->id;
    it->opened = now;
    const auto loaders = Tell(*it, index, reader, readers.loader);
    jobs_.splice(jobs_.begin(), jobs_, it);
    if (!loaders.empty()) Split(it, loaders);
    return Find(id);
  }
  const StrayOpen open{file, reader, readers.loader};
  if (!split_.contains(readers.family)) readers.loader = 0;
  return Stray(readers, open, now);
}

std::vector<LoaderTracker::Loader> JobFinder::Tell(Found& job, uint32_t index,
                                                   uint32_t reader,
                                                   uint32_t loader) {
  const OpenStep step = job.job.Opened(index, reader);
  if (job.readers.loader != 0 || job.stays_one) return {};
  const auto apart =
      job.tracker.Note(loader, {index, reader}, step,
                       {job.job.begun_epochs(), job.job.claims()});
  if (!apart.empty() || job.job.is_foreseen() || doubt_) return apart;
  std::vector<LoaderTracker::Loader> doubtful = job.tracker.Doubtful();
  if (!doubtful.empty()) {
    doubt_ =
        Doubt{job.id, job.job.begun_epochs(), std::move(doubtful), nullptr};
  }
  return {};
}

bool JobFinder::Work() {
  bool more = false;
  for (Found& found : jobs_) more |= found.job.Work();
  return TestDoubt() || more;
}

bool JobFinder::TestDoubt() {
  if (!doubt_) return false;
  const auto job = InDoubt();
  if (job == jobs_.end()) {
    doubt_.reset();
    return false;
  }
  std::unique_ptr<FollowedJob>& alone = doubt_->alone;
  if (alone == nullptr) {
    alone = std::make_unique<FollowedJob>(Following(job->job.index()));
    for (const EpochOpens::Open& open : doubt_->loaders.back().opens) {
      alone->Opened(open.index, open.thread);
    }
    return true;
  }
  const bool more = alone->Work();
  if (alone->is_foreseen()) {
    doubt_.reset();
    Split(job, job->tracker.Busy());
  } else if (!more) {
    alone.reset();
    doubt_->loaders.pop_back();
  }
  return true;
}

std::list<JobFinder::Found>::iterator JobFinder::InDoubt() {
  return std::find_if(jobs_.begin(), jobs_.end(), [this](const Found& found) {
    return found.id == doubt_->job &&
           found.job.begun_epochs() == doubt_->epoch &&
           !found.job.is_foreseen() && !doubt_->loaders.empty();
  });
}

FollowedJob JobFinder::Following(FileIndex index) const {
  return FollowedJob(std::move(index), candidates_, [this](uint64_t thread) {
    return job_tracker_.IsGone(static_cast<uint32_t>(thread));
  });
}

bool JobFinder::IsOf(const Readers& job, const Readers& reader) const {
  return job.family == reader.family &&
         (job.loader == 0 || job.loader == reader.loader);
}

JobFinder::Found* JobFinder::Stray(const Readers& readers,
                                   const StrayOpen& open,
                                   std::chrono::milliseconds now) {
  // Readers of a dataset open only a few kinds.
  if (strays_.size() == kMostKinds) strays_.clear();
  std::string kind = ListedKindOf(dataset_->catalogue().name(open.file));
  Strays& strays = strays_[{readers, std::move(kind)}];
  if (strays.pause > 0) {
    --strays.pause;
    return nullptr;
  }
  strays.opens.push_back(open);
  if (strays.opens.size() < kEnoughStrays) return nullptr;
  Found* const begun = Begin(readers, std::exchange(strays.opens, {}), now);
  if (begun == nullptr) {
    strays.pause = strays.next_pause;
    strays.next_pause *= kPauseGrowth;
  }
  return begun;
}

JobFinder::Found* JobFinder::Begin(const Readers& readers,
                                   const std::vector<StrayOpen>& strays,
                                   std::chrono::milliseconds now) {
  std::vector<EntryId> files;
  for (const StrayOpen& stray : strays) files.push_back(stray.file);
  FileIndex index =
      FileIndex::Of(dataset_->shared_catalogue(), dataset_->root(), files);
  if (index.size() < kFewestFiles) return nullptr;
  // Removes a job that looked smaller by its first opens.
  jobs_.remove_if([&](const Found& found) {
    return found.readers == readers && index.Contains(found.job.index());
  });
  Found* const begun = Add(readers, std::move(index), now);
  if (begun == nullptr) return nullptr;
  for (const StrayOpen& stray : strays) {
    const uint32_t at = *begun->job.index().IndexOf(stray.file);
    Tell(*begun, at, stray.reader, stray.loader);  // so few never split a job
  }
  return begun;
}

JobFinder::Found* JobFinder::Add(const Readers& readers, FileIndex index,
                                 std::chrono::milliseconds now) {
  const std::string path = index.path().empty() ? "." : index.path();
  if (!MakeRoom(BytesOf(index), now)) {
    warning_ =
        absl::StrCat(path, ": this job is not followed: to follow it takes ",
                     Mebibytes(BytesOf(index)), ", and `memory` leaves ",
                     Mebibytes(memory_bytes_), " for all jobs");
    return nullptr;
  }
  if (absl::StartsWith(warning_, absl::StrCat(path, ": "))) warning_.clear();
  const uint32_t files = index.size();
  jobs_.push_front(Found{++last_id_, readers, Following(std::move(index)),
                         LoaderTracker(files)});
  jobs_.front().opened = now;
  return &jobs_.front();
}

void JobFinder::Split(std::list<Found>::iterator job,
                      const std::vector<LoaderTracker::Loader>& loaders) {
  job->stays_one = loaders.size() * BytesOf(job->job.index()) > memory_bytes_;
  if (job->stays_one) return;
  const std::chrono::milliseconds now = job->opened;
  const JobId family = job->readers.family;
  if (split_.size() == kMostSplit) split_.clear();
  split_.insert(family);
  const FileIndex index = job->job.index();
  const auto followed = std::find_if(
      loaders.begin(), loaders.end(),
      [](const LoaderTracker::Loader& loader) { return loader.is_followed(); });
  if (followed == loaders.end()) {
    jobs_.erase(job);
  } else {
    job->readers.loader = followed->process;
  }
  for (const LoaderTracker::Loader& loader : loaders) {
    if (followed != loaders.end() && &loader == &*followed) continue;
    Found* const added = Add({family, loader.process}, index, now);
    if (added == nullptr) continue;
    for (const EpochOpens::Open& open : loader.opens) {
      added->job.Opened(open.index, open.thread);
    }
  }
}

bool JobFinder::MakeRoom(uint64_t bytes, std::chrono::milliseconds now) {
  if (bytes > memory_bytes_) return false;
  size_t stay = jobs_.size();
  for (const Found& found : jobs_) bytes += BytesOf(found.job.index());
  // The last ones opened longest ago.
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it, --stay) {
    if (stay < kMostJobs && bytes <= memory_bytes_) break;
    if (now - it->opened < kKept) return false;
    bytes -= BytesOf(it->job.index());
  }
  while (jobs_.size() > stay) jobs_.pop_back();
  return true;
}

}  // namespace shufflefs
