// SPDX-License-Identifier: Apache-2.0
// JobFinder decides which opens belong to which job. A job is one family of
// processes that opens files of one kind below one directory. So a job that
// validates between its epochs counts as two, and two jobs over one directory
// count as two. If several loaders of one family turn out to read in different
// orders (loader_tracker.h), each becomes a job of its own.
//
// Use it from one thread, or under a lock of its owner. It reads /proc, as
// JobTracker does.
#ifndef SHUFFLEFS_CORE_SAMPLER_JOB_FINDER_H_
#define SHUFFLEFS_CORE_SAMPLER_JOB_FINDER_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/dataset/dataset.h"
#include "core/readers/job_tracker.h"
#include "core/sampler/followed_job.h"
#include "core/sampler/loader_tracker.h"

namespace shufflefs {

class JobFinder {
 public:
  // No order can be recognised over fewer files.
  static constexpr uint32_t kFewestFiles = 256;

  struct Options {
    std::vector<uint64_t> seeds;  // given by the user
    uint64_t memory_bytes = 0;    // bound on the memory of all jobs
  };
  // `job_tracker` outlives this.
  JobFinder(std::shared_ptr<const Dataset> dataset, JobTracker& job_tracker,
            const Options& options);

  // A process that reads with its workers. loader = 0 means all loaders of the
  // family.
  struct Readers {
    JobId family;
    uint32_t loader = 0;
    friend bool operator==(const Readers&, const Readers&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Readers& readers) {
      return H::combine(std::move(h), readers.family, readers.loader);
    }
  };
  struct Found {
    uint64_t id = 0;  // counts from 1; never reused
    Readers readers;
    FollowedJob job;
    LoaderTracker tracker;
    // For the owner: the number of files it prefetches, and the duration of its
    // search.
    uint64_t window = 0;
    double search_seconds = 0;
    std::chrono::milliseconds opened{0};  // the last time
    bool stays_one = false;  // its loaders do not fit into memory as several
  };
  // A job that opened a file so recently keeps its memory. Otherwise jobs that
  // do not fit together would push each other out, and none were recognised.
  static constexpr std::chrono::milliseconds kKept{10000};
  // Tells the job of this open, and returns it. Returns null while the job is
  // not known.
  Found* Opened(EntryId file, uint32_t reader, std::chrono::milliseconds now);
  // Returns the job that such an open belongs to, and tells it nothing.
  const Found* JobOf(EntryId file, uint32_t reader,
                     std::chrono::milliseconds now);
  // Tests a few orders for each job, for some ms at most, and whether a job
  // consists of several. Returns false if there is nothing to do.
  bool Work();

  // The jobs, ordered by their last open, the latest first.
  std::list<Found>& jobs() { return jobs_; }
  const std::list<Found>& jobs() const { return jobs_; }
  Found* Find(uint64_t id);
  const Found* Find(uint64_t id) const;
  // Which job is not followed, because memory is missing. For people; "" if
  // all are.
  const std::string& warning() const { return warning_; }

 private:
  struct StrayOpen {
    EntryId file;
    uint32_t reader = 0;
    uint32_t loader = 0;
  };
  // Opens of files of one kind that belong to no job yet.
  struct Strays {
    std::vector<StrayOpen> opens;
    uint64_t pause = 0;  // opens to ignore because no job was found
    uint64_t next_pause = kFirstPause;
  };
  static constexpr size_t kEnoughStrays = 8;
  // To find a job's files means to scan a whole directory. After each failure
  // it is tried less often.
  static constexpr uint64_t kFirstPause = 32;
  static constexpr uint64_t kPauseGrowth = 4;
  static constexpr size_t kMostKinds = 256;
  static constexpr size_t kMostJobs = 16;
  static constexpr size_t kMostSplit = 256;

  Readers ReadersOf(uint32_t reader, std::chrono::milliseconds now);
  // `index` gets the file's place in the job.
  std::list<Found>::iterator Of(const Readers& readers, EntryId file,
                                uint32_t& index);
  bool IsOf(const Readers& job, const Readers& reader) const;
  Found* Stray(const Readers& readers, const StrayOpen& open,
               std::chrono::milliseconds now);
  Found* Begin(const Readers& readers, const std::vector<StrayOpen>& strays,
               std::chrono::milliseconds now);
  // Returns null if there is no memory for it.
  Found* Add(const Readers& readers, FileIndex index,
             std::chrono::milliseconds now);
  // Tells the job of an open. Returns the loaders if the job turns out to
  // consist of several.
  std::vector<LoaderTracker::Loader> Tell(Found& job, uint32_t index,
                                          uint32_t reader, uint32_t loader);
  FollowedJob Following(FileIndex index) const;
  // One step of the test of `doubt_`: looks for an order in the opens of one
  // loader. If there is one, each loader becomes a job. Returns false if
  // nothing is in doubt.
  bool TestDoubt();
  // Returns the job if it is still in doubt, otherwise jobs_.end().
  std::list<Found>::iterator InDoubt();
  // Gives each of the loaders a job of its own if memory suffices.
  void Split(std::list<Found>::iterator job,
             const std::vector<LoaderTracker::Loader>& loaders);
  bool MakeRoom(uint64_t bytes, std::chrono::milliseconds now);

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  JobTracker& job_tracker_;
  const uint64_t memory_bytes_;
  const FollowedJob::Candidates candidates_;  // all jobs share them

  std::list<Found> jobs_;
  uint64_t last_id_ = 0;
  std::string warning_;
  // A job without an order whose loaders may be jobs of their own. One at a
  // time is tested: a job that comes into doubt meanwhile will again.
  struct Doubt {
    uint64_t job = 0;  // Found::id
    uint64_t epoch = 0;
    std::vector<LoaderTracker::Loader> loaders;  // not tested yet
    // What the last of them would be. Null before its test.
    std::unique_ptr<FollowedJob> alone;
  };
  std::optional<Doubt> doubt_;
  absl::flat_hash_map<std::pair<Readers, std::string>, Strays> strays_;
  // Families whose loaders are separate jobs.
  absl::flat_hash_set<JobId> split_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_JOB_FINDER_H_
