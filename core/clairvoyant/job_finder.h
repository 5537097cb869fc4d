// SPDX-License-Identifier: Apache-2.0
// Which opens belong to which job: those of one family of processes that are of
// files of one kind below one directory. So a job that validates between its
// epochs is two, and two jobs over one directory are two.
//
// Belongs to one thread, or to a lock of the owner's; looks at /proc as
// ReaderFamilies does.
#ifndef SHUFFLEFS_CORE_CLAIRVOYANT_JOB_FINDER_H_
#define SHUFFLEFS_CORE_CLAIRVOYANT_JOB_FINDER_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/clairvoyant/followed_job.h"
#include "core/dataset.h"
#include "core/reader_family.h"

namespace shufflefs {

class JobFinder {
 public:
  // Of fewer files no order can be told.
  static constexpr uint32_t kFewestFiles = 256;

  struct Options {
    std::vector<uint64_t> seeds;  // of the user
    uint64_t memory_bytes = 0;    // for what is kept of all jobs
  };
  // `families` outlives this.
  JobFinder(std::shared_ptr<const Dataset> dataset, ReaderFamilies& families,
            const Options& options);

  struct Found {
    uint64_t id = 0;  // from 1 on, never used again
    FamilyId family;
    uint64_t window = 0;  // files that the owner reads ahead of it
    double search_seconds = 0;
    FollowedJob job;
  };
  // The job that the open is one of, after it was told of it; null while that
  // is not known.
  Found* Opened(EntryId file, uint32_t reader, std::chrono::milliseconds now);

  // Those that opened last first.
  std::list<Found>& jobs() { return jobs_; }
  const std::list<Found>& jobs() const { return jobs_; }
  Found* Find(uint64_t id);
  const Found* Find(uint64_t id) const;

 private:
  struct Stray {
    EntryId file;
    uint32_t reader = 0;
  };
  // Opens of files of a kind that are in no job yet.
  struct Strays {
    std::vector<Stray> opens;
    uint64_t pause = 0;  // opens that are not looked at: a job was not found
    uint64_t next_pause = kFirstPause;
  };
  static constexpr size_t kEnoughStrays = 8;
  // Finding a job's files goes through all of a directory, so where that was in
  // vain it is done ever more seldom.
  static constexpr uint64_t kFirstPause = 32;
  static constexpr uint64_t kPauseGrowth = 4;
  static constexpr size_t kMostKinds = 256;
  static constexpr size_t kMostJobs = 16;

  Found* Begin(FamilyId family, const std::vector<Stray>& strays);
  void MakeRoom(uint64_t bytes);

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  ReaderFamilies& families_;
  const uint64_t memory_bytes_;
  const FollowedJob::Candidates candidates_;  // all jobs share them

  std::list<Found> jobs_;
  uint64_t last_id_ = 0;
  absl::flat_hash_map<std::pair<FamilyId, std::string>, Strays> strays_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CLAIRVOYANT_JOB_FINDER_H_
