// SPDX-License-Identifier: Apache-2.0
// SamplerPrefetcher prefetches for jobs that read files in an order of their
// own. It learns the order from opens (followed_job.h). Names and bytes do not
// change. A wrong prediction costs a useless read. A file that was not
// predicted is read from the source as usual.
//
// If the mount does not see opens, the first read of each file counts as one.
// No read reaches the daemon of a file that the kernel has in its own memory.
// So where the kernel keeps a part of the files, an order is seen in part, and
// is recognised less often.
//
// A file that the kernel has in its own memory is not prefetched, as far as
// Parts::cached knows.
//
// Opens go into a queue. A thread of SamplerPrefetcher takes them, recognises
// the orders and says what to fetch. Long searches run on threads that use only
// idle processor time.
#ifndef SHUFFLEFS_CORE_SAMPLER_SAMPLER_PREFETCHER_H_
#define SHUFFLEFS_CORE_SAMPLER_SAMPLER_PREFETCHER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/idle_work.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/io/cscan_queue.h"
#include "core/pool/content_provider.h"
#include "core/pool/pool_memory.h"
#include "core/pool/prefetched_files.h"
#include "core/readers/job_tracker.h"
#include "core/sampler/cached_finder.h"
#include "core/sampler/followed_job.h"
#include "core/sampler/job_finder.h"

namespace shufflefs {

struct SamplerPrefetcherStatus {
  struct Job {
    FollowedJobStatus job;            // state may be "searching", too
    absl::optional<double> searched;  // share of all seeds, during a search
    double search_seconds = 0;        // of this search, or of the last one
  };
  std::vector<Job> jobs;
  // Opens that came in an epoch of known order, and how many of the files were
  // in memory then.
  uint64_t opens = 0;
  uint64_t ready = 0;
  uint64_t prefetched_bytes = 0;
  uint64_t wasted_bytes = 0;
  std::vector<std::string> warnings;
};

// Thread-safe. No call waits for a device.
class SamplerPrefetcher : public ContentProvider {
 public:
  static constexpr uint64_t kLeastMemory = PrefetchedFiles::kLeastMemory;

  struct Parts {
    std::shared_ptr<const Dataset> dataset;
    std::unique_ptr<SampleSource> source;
    PoolMemory memory;  // guarantees at least kLeastMemory
    // The places of the samples by SampleId, if the device seeks. Then files
    // are prefetched in this order. Empty if the order of reads does not
    // matter.
    std::vector<uint64_t> addresses;
    // Files that somebody else answers. A job may read them among others, and
    // none is prefetched. Empty: there are none. No call may block.
    std::function<bool(EntryId)> leaves_out;
    std::string how;      // for `status`
    CachedFinder cached;  // may be empty: none is
    // Readers read files before this was made, so the kernel may have any.
    bool read_before = false;
    std::vector<uint64_t> seeds;        // given by the user
    uint32_t search_cores = 1;          // 0: no search
    JobTracker* job_tracker = nullptr;  // outlives this
    StallClock* stall = nullptr;        // outlives this; may be null
  };
  static absl::StatusOr<std::shared_ptr<SamplerPrefetcher>> Make(Parts parts);
  ~SamplerPrefetcher() override { Stop(); }
  // Stops prefetching. Call it before you destroy what the source reads with.
  void Stop();

  // Tells whether OnOpen is called for every open from now on. Before the call
  // it is not.
  void ExpectOpens(bool all) { sees_opens_ = all; }
  // Thread `reader` (0 = hidden) has opened `file`, at most some milliseconds
  // ago. May read /proc.
  void OnOpen(EntryId file, uint32_t reader, std::chrono::milliseconds now);
  void OnFirstRead(EntryId file, uint32_t reader,
                   std::chrono::milliseconds now) override;
  bool CanServe(EntryId file) override;
  bool IsResident(EntryId file) const override {
    return files_->IsResident(file);
  }
  bool kernel_should_cache() const override { return true; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override {
    files_->Read(file, offset, length, std::move(done));
  }
  void Close(EntryId file) override { files_->Close(file); }
  ProducerStatus status() const override;

  SamplerPrefetcherStatus prefetcher() const;

 private:
  // An open of a file, or its first read.
  struct Beginning {
    enum class What {
      kOpen,
      // Where opens are not seen: a read of a file that was in memory.
      kRead,
      // The same, but it was not in memory.
      kMissedRead,
      // Where opens are seen: a read of a file that was not in memory.
      kMissed,
    };
    What what = What::kOpen;
    EntryId file;
    uint32_t reader = 0;
    std::chrono::milliseconds now{0};
  };
  // What the idle work searches for.
  struct IdleFor {
    uint64_t job = 0;                 // its id; 0: nothing is searched
    uint64_t epoch = 0;               // the epoch whose seed is searched
    absl::optional<DrawnSeed> drawn;  // set: searches its generator
  };

  SamplerPrefetcher(Parts parts, std::shared_ptr<PrefetchedFiles> files,
                    std::unique_ptr<PoolShare> of_jobs);
  void Run(std::stop_token stop);
  void Add(const Beginning& begun) ABSL_LOCKS_EXCLUDED(mu_);
  void NoteRead(EntryId file);
  bool WasRead(EntryId file) const;
  std::vector<Beginning> TakeBegun();
  // Blocks until a file is begun, Wake() is called or `stop` is requested.
  // Blocks for some milliseconds at most if `waits`: requests wait until the
  // device has read others.
  std::vector<Beginning> WaitForBegun(std::stop_token stop, bool waits);
  void Note(const Beginning& begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // Recognises orders for a while. Returns whether there is more to do.
  bool Work() ABSL_LOCKS_EXCLUDED(jobs_mu_);
  // Fetches what is due. Returns whether requests wait for their turn.
  bool Fill(const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(jobs_mu_);
  // A file of a job.
  struct Request {
    // The id of the job.
    uint64_t job = 0;
    // The index of the file.
    uint32_t index = 0;
  };
  // A file that is to be prefetched.
  struct Foreseen {
    EntryId file;
    Request request;
  };
  // Appends what is to be prefetched for a job.
  void Foresee(JobFinder::Found& job, std::vector<Foreseen>& next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // Removes the files that the kernel has. Asks with no lock held, because the
  // mount may wait for one.
  void DropCached(std::vector<Foreseen>& next, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(jobs_mu_);
  // Returns whether the kernel seems to have all of these files, which were
  // read: no read came for long. Asks it about some.
  bool SeemAllCached(const std::vector<EntryId>& files,
                     const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(jobs_mu_);
  // Takes requests from the queue, gets memory for their files, and appends the
  // pieces to fetch.
  void Start(PrefetchedFiles::Pieces& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  uint64_t MostAhead(const FollowedJob& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  void Reclaim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // Makes the thread look for work although no file was begun.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t AddressOf(EntryId file) const;
  bool IsLeftOut(EntryId file) const {
    return leaves_out_ && leaves_out_(file);
  }
  // Begins idle work, one task at a time.
  void SearchSeeds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  bool IsSearchOfUse() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  bool BeginSearch(uint64_t job, FollowedJob::Search search)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // The functions below find which generator drew the known seed of an epoch.
  std::vector<uint64_t> GeneratorSeeds() const;  // the user's, then common ones
  void FindEarly(JobFinder::Found& found)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  bool BeginGenerators(uint64_t job, const FollowedJob::GeneratorQuery& query)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  void Found(uint64_t job, const DrawnSeed& drawn,
             const std::vector<GeneratorPlace>& places)
      ABSL_LOCKS_EXCLUDED(jobs_mu_);

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<uint64_t> addresses_;
  const std::function<bool(EntryId)> leaves_out_;  // may be empty
  const std::string how_;
  const CachedFinder cached_;
  const std::vector<uint64_t> seeds_;
  const bool searches_;
  // Self-synchronised.
  JobTracker& job_tracker_;
  const std::shared_ptr<PrefetchedFiles> files_;
  std::atomic<bool> sees_opens_{false};
  // A bit per entry: a reader may have read it. The kernel has no other file.
  std::vector<std::atomic<uint64_t>> read_;
  // Opens since the last read that reached the daemon.
  std::atomic<uint64_t> opens_without_read_{0};
  std::atomic<uint32_t> last_asked_{~uint32_t{0}};  // entry
  // Counts of files whose reads reached the daemon.
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};

  uint64_t not_asked_ = 0;  // files that seemed cached; for the thread

  mutable Mutex mu_;
  CondVar has_begun_;
  std::vector<Beginning> begun_ ABSL_GUARDED_BY(mu_);
  bool is_woken_ ABSL_GUARDED_BY(mu_) = false;

  // What jobs_ may take of `memory`. Their tables are not in the pool, so this
  // keeps others from borrowing it.
  const std::unique_ptr<PoolShare> of_jobs_;
  // Taken before the locks of other classes. Held for some milliseconds at a
  // time.
  mutable Mutex jobs_mu_;
  JobFinder jobs_ ABSL_GUARDED_BY(jobs_mu_);
  CScanQueue<Request> queue_ ABSL_GUARDED_BY(jobs_mu_);
  uint64_t short_of_memory_ ABSL_GUARDED_BY(jobs_mu_) = 0;  // times
  uint64_t foreseen_opens_ ABSL_GUARDED_BY(jobs_mu_) = 0;
  uint64_t missed_opens_ ABSL_GUARDED_BY(jobs_mu_) = 0;
  IdleFor idle_for_ ABSL_GUARDED_BY(jobs_mu_);

  // These are last because they use the other members. The thread ends first,
  // then the searches.
  IdleWork idle_;
  std::jthread thread_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SAMPLER_PREFETCHER_H_
