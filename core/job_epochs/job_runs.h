// SPDX-License-Identifier: Apache-2.0
// JobRuns finds out when a job has ended and the next has begun: some node's
// readers are of another job, and the one before had read something there.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_JOB_RUNS_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_JOB_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/types/optional.h"
#include "core/peers/epoch_message.h"
#include "core/readers/job_id.h"

namespace shufflefs {

// Not thread-safe.
class JobRuns {
 public:
  explicit JobRuns(uint64_t names) : names_(names) {}

  // The job of a reader on `node`, one of `nodes`. All nodes have the same job
  // until one of them begins the next. What the node calls foreign is so.
  JobId Note(uint32_t node, const EpochOpen& open, size_t nodes) {
    if (open.foreign) return JobId(kForeign + node);
    Job& job = jobs_[node];
    if (job.number != open.job) {
      const bool left_a_pass =
          job.number && job.run == run_ && job.opens * kPass * nodes >= names_;
      if (left_a_pass) ++run_;
      job = {open.job, run_, 0};
    }
    ++job.opens;
    return JobId(job.run);
  }
  bool IsAlive(JobId job) const {
    return job.value() >= kForeign || job.value() == run_;
  }
  void BeginEpoch() {
    for (auto& [node, job] : jobs_) job.opens = 0;
  }

 private:
  // A job that opened fewer names left no pass: 1 / kPass of its node's share.
  static constexpr uint64_t kPass = 50;
  static constexpr uint64_t kForeign = uint64_t{1} << 32;

  struct Job {
    absl::optional<uint32_t> number;
    uint64_t run = 0;
    uint64_t opens = 0;  // in this epoch
  };

  const uint64_t names_;
  uint64_t run_ = 1;
  std::map<uint32_t, Job> jobs_;  // by node
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_JOB_RUNS_H_
