// SPDX-License-Identifier: Apache-2.0
// JobSequence counts the jobs that follow each other on a node. The first job
// that opens a name is the owner. If it is gone and another job opens, that is
// the next owner. Other jobs that open while the owner lives are foreign.
#ifndef SHUFFLEFS_CORE_EPOCH_JOB_SEQUENCE_H_
#define SHUFFLEFS_CORE_EPOCH_JOB_SEQUENCE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"
#include "core/readers/job_id.h"

namespace shufflefs {

// Not thread-safe.
class JobSequence {
 public:
  struct Place {
    uint32_t number = 0;  // of the owner
    bool foreign = false;
  };
  // Notes an open of `job`. `alive` is asked only about the owner.
  Place Note(JobId job, absl::FunctionRef<bool(JobId)> alive) {
    if (!owner_) owner_ = job;
    if (*owner_ == job) return {number_, false};
    if (alive(*owner_)) return {number_, true};
    owner_ = job;
    return {++number_, false};
  }

 private:
  absl::optional<JobId> owner_;
  uint32_t number_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_JOB_SEQUENCE_H_
