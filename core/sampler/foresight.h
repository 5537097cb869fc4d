// SPDX-License-Identifier: Apache-2.0
// Reads ahead of jobs that draw files in an order of their own, which is found
// out from what they begin to read (followed_job.h). Names and bytes are
// untouched: what was foreseen wrongly was read in vain, and what was not
// foreseen is read from the source as ever. Opens need not be seen, so that
// what the kernel has in its own memory costs nothing: a file of which no read
// reaches the daemon is not told of, nor need it be read ahead.
//
// Beginnings are put into a queue. A thread of its own takes them up, looks for
// the orders and says what to fetch; long searches run on threads that only
// take what processor time is left over.
#ifndef SHUFFLEFS_CORE_SAMPLER_FORESIGHT_H_
#define SHUFFLEFS_CORE_SAMPLER_FORESIGHT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
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
#include "core/pool/held_files.h"
#include "core/pool/sample_memory.h"
#include "core/readers/reader_family.h"
#include "core/sampler/followed_job.h"
#include "core/sampler/job_finder.h"
#include "core/sampler/sweep.h"

namespace shufflefs {

struct ForesightStatus {
  struct Job {
    FollowedJobStatus job;            // state may be "searching", too
    absl::optional<double> searched;  // share of all seeds, in a search
    double search_seconds = 0;        // of that, or of the last one
  };
  std::vector<Job> jobs;
  // Files that were begun in epochs whose order was known, and those of them
  // that were in memory then.
  uint64_t opens = 0;
  uint64_t ready = 0;
  uint64_t prefetched_bytes = 0;
  uint64_t wasted_bytes = 0;
  std::vector<std::string> warnings;
};

// Thread-safe. Nothing waits for a device.
class Foresight : public SampleMemory {
 public:
  static constexpr uint64_t kLeastMemory = HeldFiles::kLeastMemory;

  struct Parts {
    std::shared_ptr<const Dataset> dataset;
    std::unique_ptr<SampleSource> source;
    PoolMemory memory;  // guarantees at least kLeastMemory
    // By SampleId: where it lies on a device that seeks, so that what is read
    // ahead is read in that order. Empty: the order of reads does not matter.
    std::vector<uint64_t> addresses;
    std::string how;                     // for `status`
    std::vector<uint64_t> seeds;         // of the user
    uint32_t search_cores = 1;           // 0: no search
    ReaderFamilies* families = nullptr;  // outlives this
    StallClock* stall = nullptr;         // outlives this; may be null
  };
  static absl::StatusOr<std::shared_ptr<Foresight>> Make(Parts parts);
  ~Foresight() override { Stop(); }
  // Nothing is read ahead any more: before that goes which the source reads
  // with.
  void Stop();

  void Begun(EntryId file, uint32_t reader,
             std::chrono::milliseconds now) override;
  bool Answers(EntryId file) override;
  bool Holds(EntryId file) const override { return files_->Holds(file); }
  bool comes_again() const override { return true; }
  void Read(EntryId file, uint64_t offset, uint64_t length,
            ReadDone done) override {
    files_->Read(file, offset, length, std::move(done));
  }
  void Close(EntryId file) override { files_->Close(file); }
  SupplyStatus status() const override;

  ForesightStatus foresight() const;

 private:
  struct Beginning {
    EntryId file;
    uint32_t reader = 0;
    std::chrono::milliseconds now{0};
    bool ready = false;
  };
  // What the idle work is done for.
  struct IdleFor {
    uint64_t job = 0;                 // its id; 0: none is
    uint64_t epoch = 0;               // whose seed is searched
    absl::optional<DrawnSeed> drawn;  // whose generator is, instead
  };

  Foresight(Parts parts, std::shared_ptr<HeldFiles> files);
  void Run(std::stop_token stop);
  std::vector<Beginning> TakeBegun();
  // `waits`: something waits for the device to have read what it was given.
  std::vector<Beginning> WaitForBegun(std::stop_token stop, bool waits);
  void Note(const Beginning& begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // Whether there is more to do.
  bool Work() ABSL_LOCKS_EXCLUDED(jobs_mu_);
  // Whether something waits for its turn.
  bool Fill() ABSL_LOCKS_EXCLUDED(jobs_mu_);
  // What is to be read ahead of a job is to wait for its turn.
  void Foresee(JobFinder::Found& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // Whose turn it is gets memory, and is appended.
  void Start(HeldFiles::Pieces& pieces) ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  uint64_t MostAhead(const FollowedJob& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  void Reclaim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // Has the thread look for what to do, though nothing was begun.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t AddressOf(EntryId file) const;
  // Idle work, one thing at a time.
  void SearchSeeds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  bool IsSearchOfUse() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  bool BeginSearch(uint64_t job, FollowedJob::Search search)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jobs_mu_);
  // Of a job whose epoch's seed is known: which generator drew it.
  std::vector<uint64_t> GeneratorSeeds() const;  // usual ones
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
  const std::string how_;
  const std::vector<uint64_t> seeds_;
  const bool searches_;
  // Self-synchronised.
  ReaderFamilies& families_;
  const std::shared_ptr<HeldFiles> files_;
  std::atomic<uint32_t> last_asked_{~uint32_t{0}};  // entry
  // Files of which reads reached the daemon.
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};

  mutable Mutex mu_;
  CondVar has_begun_;
  std::vector<Beginning> begun_ ABSL_GUARDED_BY(mu_);
  bool is_woken_ ABSL_GUARDED_BY(mu_) = false;

  // Taken before the locks of others; held for some milliseconds at a time.
  mutable Mutex jobs_mu_;
  JobFinder jobs_ ABSL_GUARDED_BY(jobs_mu_);
  Sweep sweep_ ABSL_GUARDED_BY(jobs_mu_);
  uint64_t short_of_memory_ ABSL_GUARDED_BY(jobs_mu_) = 0;  // times
  uint64_t foreseen_opens_ ABSL_GUARDED_BY(jobs_mu_) = 0;
  uint64_t ready_opens_ ABSL_GUARDED_BY(jobs_mu_) = 0;
  IdleFor idle_for_ ABSL_GUARDED_BY(jobs_mu_);

  // Last: they use the others. The searches end first.
  IdleWork idle_;
  std::jthread thread_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_FORESIGHT_H_
