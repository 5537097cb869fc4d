// SPDX-License-Identifier: Apache-2.0
// JobTracker finds the job that a reader belongs to: the processes that read
// one training's data. A loader with its workers and ranks is one job. A cp or
// head beside it is another, and a second training of another shell is a third.
//
// A job is a process group and the executable of the reader. From the group
// the resolver climbs to the process that started it, as long as that runs the
// same executable (torchrun starts its ranks in separate sessions) or is a
// launcher of ranks (mpirun, slurmstepd, …). Readers of one executable that
// lead groups of their own below one other process are a job too: Ray's
// workers under raylet, or ranks that a shell started by `set -m` or setsid. A
// service manager is no such process.
//
// A job is gone when two things are. All processes that joined its members: the
// topmost of the group (a shell script, xargs), the launcher, or the readers
// themselves if only their parent joins them. And the main processes of its
// readers: a training outlives the script that started it. Workers that outlive
// their main process keep no job alive.
//
// Thread-safe. Resolve, LoaderOf and Alive answer from memory. They read /proc
// at most once per second for a reader and ten times per second for a job.
// That takes some tens of microseconds and does not block on the reader. Memory
// is bounded by Limits.
#ifndef SHUFFLEFS_CORE_READERS_JOB_TRACKER_H_
#define SHUFFLEFS_CORE_READERS_JOB_TRACKER_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/readers/job_id.h"
#include "core/readers/process_table.h"

namespace shufflefs {

// A thread id from the kernel. 0 = hidden: the thread cannot be seen from here.
inline uint32_t ReaderOf(int32_t pid) {
  return pid < 0 ? 0 : static_cast<uint32_t>(pid);
}

class JobTracker {
 public:
  // Bounds of what is remembered. Families that are alive are never forgotten.
  struct Limits {
    uint64_t readers = 8192;
    uint64_t jobs = 4096;
  };
  static constexpr std::chrono::milliseconds kValid{1000};
  // Shorter, so that a restarted job is not taken for a foreign job for long.
  static constexpr std::chrono::milliseconds kAliveValid{100};
  // A hidden job cannot be checked. It counts as alive for this time.
  static constexpr std::chrono::milliseconds kHiddenAlive{60000};

  // `proc` is the mounted procfs. Tests pass another directory of the same
  // form.
  explicit JobTracker(std::string proc = "/proc");
  JobTracker(std::string proc, Limits limits);

  // The job of process or thread `id` at `now` (any clock that does not run
  // backwards). kHiddenJob for id 0, and for a process that cannot be
  // examined and is not remembered.
  JobId Resolve(uint32_t id, std::chrono::milliseconds now);

  // The process whose workers read. This is the parent of the reader's process
  // if it runs the same executable, else the reader's own process. 0: hidden. A
  // job may have several, such as ranks, or trainings that one script starts.
  uint32_t LoaderOf(uint32_t id, std::chrono::milliseconds now);

  // The process of a thread, and the one whose workers read, as LoaderOf. All
  // 0: hidden. Reads /proc each time.
  struct Processes {
    uint32_t own = 0;
    uint32_t loader = 0;
    uint64_t start = 0;  // of `own`: clock ticks after boot
  };
  Processes ProcessesOf(uint32_t id) const;

  // Returns whether that process or thread has ended. False for 0, which is
  // hidden.
  bool IsGone(uint32_t id) const;

  // Returns whether a process of the job still exists. False for an unknown
  // job.
  bool Alive(JobId job, std::chrono::milliseconds now);

  // Returns whether the job surely began after this process did: all processes
  // that join its members are younger. False for an unknown or hidden job.
  bool IsYounger(JobId job);

 private:
  // Identifies a process while it lives, because ids are reused.
  struct Process {
    uint32_t id = 0;
    uint64_t start = 0;
    friend bool operator==(const Process&, const Process&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Process& process) {
      return H::combine(std::move(h), process.id, process.start);
    }
  };
  using Key = std::pair<uint32_t, std::string>;  // process group, executable
  struct Reader {
    uint64_t start = 0;
    uint32_t group = 0;
    std::string executable;
    Process loader;
    JobId job;
    std::chrono::milliseconds checked{0};
  };
  struct Job {
    Key key;
    std::vector<Process> anchors;  // at most kMaxAnchors
    bool older = false;            // an anchor was older than this process
  };
  struct Liveness {
    bool alive = true;
    std::chrono::milliseconds checked{0};
  };
  // Where a climb from a reader ended.
  struct Root {
    uint32_t group = 0;
    std::vector<Process> anchors;
  };

  absl::optional<JobId> Cached(uint32_t id, std::chrono::milliseconds now)
      ABSL_LOCKS_EXCLUDED(cache_mu_);
  Process StarterOf(uint32_t id, const std::string& executable) const;
  Root Climb(uint32_t id, const ProcessStat& stat,
             const std::string& executable) const;
  JobId Join(const Root& root, const std::string& executable)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(slow_mu_);
  void Anchor(Job& job, const std::vector<Process>& anchors)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(slow_mu_);
  // If only main processes of its readers live, they become its anchors.
  bool Lives(JobId id, Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(slow_mu_)
      ABSL_LOCKS_EXCLUDED(cache_mu_);
  bool IsAlive(const Process& process) const;
  bool AnyAlive(const std::vector<Process>& anchors) const;
  void DropDeadJobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(slow_mu_);
  void Remember(uint32_t id, Reader reader) ABSL_LOCKS_EXCLUDED(cache_mu_);

  // Constant after construction.
  const ProcessTable processes_;
  const Limits limits_;
  const absl::optional<uint64_t> start_;  // of this process

  // Held while /proc is read, never for an answer from memory. Taken before
  // cache_mu_.
  Mutex slow_mu_;
  absl::flat_hash_map<uint64_t, Job> jobs_ ABSL_GUARDED_BY(slow_mu_);
  absl::flat_hash_map<Key, JobId> by_key_ ABSL_GUARDED_BY(slow_mu_);
  uint64_t next_job_ ABSL_GUARDED_BY(slow_mu_) = 1;

  Mutex cache_mu_;
  absl::flat_hash_map<uint32_t, Reader> readers_ ABSL_GUARDED_BY(cache_mu_);
  absl::flat_hash_map<uint64_t, Liveness> alive_ ABSL_GUARDED_BY(cache_mu_);
  std::chrono::milliseconds hidden_seen_ ABSL_GUARDED_BY(cache_mu_){0};
  bool hidden_known_ ABSL_GUARDED_BY(cache_mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_READERS_JOB_TRACKER_H_
