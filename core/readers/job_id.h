// SPDX-License-Identifier: Apache-2.0
// The id of a job: the processes of one training that read, with all workers
// and ranks. JobTracker assigns ids, and the epoch detector compares them.
#ifndef SHUFFLEFS_CORE_READERS_JOB_ID_H_
#define SHUFFLEFS_CORE_READERS_JOB_ID_H_

#include <cstdint>

#include "core/base/types.h"

namespace shufflefs {

using JobId = StrongInt<struct JobTag, uint64_t>;

// The job of every reader whose process cannot be seen (pid 0: another pid
// namespace).
inline constexpr JobId kHiddenJob{0};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_READERS_JOB_ID_H_
