// SPDX-License-Identifier: Apache-2.0
#include "core/clairvoyant/job_finder.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

JobFinder::JobFinder(std::shared_ptr<const Dataset> dataset,
                     ReaderFamilies& families, const Options& options)
    : dataset_(std::move(dataset)),
      families_(families),
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

JobFinder::Found* JobFinder::Opened(EntryId file, uint32_t reader,
                                    std::chrono::milliseconds now) {
  const FamilyId family = families_.Resolve(reader, now);
  for (auto it = jobs_.begin(); it != jobs_.end(); ++it) {
    if (it->family != family) continue;
    const std::optional<uint32_t> index = it->job.index().IndexOf(file);
    if (!index) continue;
    it->job.Opened(*index, reader);
    jobs_.splice(jobs_.begin(), jobs_, it);
    return &jobs_.front();
  }
  // Only a few kinds are ever opened by whoever reads a dataset.
  if (strays_.size() == kMostKinds) strays_.clear();
  std::string kind = ListedKindOf(dataset_->catalogue().name(file));
  Strays& strays = strays_[{family, std::move(kind)}];
  if (strays.pause > 0) {
    --strays.pause;
    return nullptr;
  }
  strays.opens.push_back({file, reader});
  if (strays.opens.size() < kEnoughStrays) return nullptr;
  Found* const begun = Begin(family, std::exchange(strays.opens, {}));
  if (begun == nullptr) {
    strays.pause = strays.next_pause;
    strays.next_pause *= kPauseGrowth;
  }
  return begun;
}

JobFinder::Found* JobFinder::Begin(FamilyId family,
                                   const std::vector<Stray>& strays) {
  std::vector<EntryId> files;
  for (const Stray& stray : strays) files.push_back(stray.file);
  FileIndex index =
      FileIndex::Of(dataset_->shared_catalogue(), dataset_->root(), files);
  const uint64_t bytes = index.size() * FollowedJob::kBytesPerFile;
  if (index.size() < kFewestFiles || bytes > memory_bytes_) {
    return nullptr;
  }
  // One that was taken for a smaller one by its first opens.
  jobs_.remove_if([&](const Found& found) {
    return found.family == family && index.Contains(found.job.index());
  });
  MakeRoom(bytes);
  jobs_.push_front(Found{++last_id_, family, 0, 0,
                         FollowedJob(std::move(index), candidates_)});
  FollowedJob& job = jobs_.front().job;
  for (const Stray& stray : strays) {
    job.Opened(*job.index().IndexOf(stray.file), stray.reader);
  }
  return &jobs_.front();
}

void JobFinder::MakeRoom(uint64_t bytes) {
  for (const Found& found : jobs_) {
    bytes += found.job.index().size() * FollowedJob::kBytesPerFile;
  }
  while (!jobs_.empty() &&
         (jobs_.size() >= kMostJobs || bytes > memory_bytes_)) {
    bytes -= jobs_.back().job.index().size() * FollowedJob::kBytesPerFile;
    jobs_.pop_back();
  }
}

}  // namespace shufflefs
