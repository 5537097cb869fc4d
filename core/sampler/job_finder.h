// SPDX-License-Identifier: Apache-2.0
// Which opens belong to which job: those of one family of processes that are of
// files of one kind below one directory. So a job that validates between its
// epochs is two, and two jobs over one directory are two. Where several loaders
// of one family turn out to read in orders of their own (loader_watch.h), each
// is a job of its own from then on.
//
// Belongs to one thread, or to a lock of the owner's; looks at /proc as
// ReaderFamilies does.
#ifndef SHUFFLEFS_CORE_SAMPLER_JOB_FINDER_H_
#define SHUFFLEFS_CORE_SAMPLER_JOB_FINDER_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/dataset/dataset.h"
#include "core/readers/reader_family.h"
#include "core/sampler/followed_job.h"
#include "core/sampler/loader_watch.h"

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

  // A process that reads with its workers; 0: all that a family has.
  struct Readers {
    FamilyId family;
    uint32_t loader = 0;
    friend bool operator==(const Readers&, const Readers&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Readers& readers) {
      return H::combine(std::move(h), readers.family, readers.loader);
    }
  };
  struct Found {
    uint64_t id = 0;  // from 1 on, never used again
    Readers readers;
    FollowedJob job;
    LoaderWatch watch;
    // Of the owner: how many files it reads ahead, how long it searched.
    uint64_t window = 0;
    double search_seconds = 0;
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
  struct StrayOpen {
    EntryId file;
    uint32_t reader = 0;
    uint32_t loader = 0;
  };
  // Opens of files of a kind that are in no job yet.
  struct Strays {
    std::vector<StrayOpen> opens;
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
  static constexpr size_t kMostSplit = 256;

  bool IsOf(const Readers& job, const Readers& reader) const;
  Found* Stray(const Readers& readers, const StrayOpen& open);
  Found* Begin(const Readers& readers, const std::vector<StrayOpen>& strays);
  Found* Add(const Readers& readers, FileIndex index);
  // The loaders that the job turns out to consist of.
  std::vector<LoaderWatch::Loader> Tell(Found& job, uint32_t index,
                                        uint32_t reader, uint32_t loader);
  FollowedJob Following(FileIndex index) const;
  // Whether what one of them opened tells an order by itself. Some ten ms.
  bool IsOneKnown(const FileIndex& index,
                  const std::vector<LoaderWatch::Loader>& loaders) const;
  // Gives each of the loaders a job of its own.
  void Split(std::list<Found>::iterator job,
             const std::vector<LoaderWatch::Loader>& loaders);
  void MakeRoom(uint64_t bytes);

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  ReaderFamilies& families_;
  const uint64_t memory_bytes_;
  const FollowedJob::Candidates candidates_;  // all jobs share them

  std::list<Found> jobs_;
  uint64_t last_id_ = 0;
  absl::flat_hash_map<std::pair<Readers, std::string>, Strays> strays_;
  // Families of which each loader is a job of its own.
  absl::flat_hash_set<FamilyId> split_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_JOB_FINDER_H_
