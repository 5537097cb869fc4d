// SPDX-License-Identifier: Apache-2.0
// Whether the job that a reader belongs to spans several nodes, as the
// environment shows that its launcher gave it.
#ifndef SHUFFLEFS_CORE_READERS_JOB_NODES_H_
#define SHUFFLEFS_CORE_READERS_JOB_NODES_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "core/readers/process_table.h"

namespace shufflefs {

// The variables that show it, as "WORLD_SIZE=16, LOCAL_WORLD_SIZE=8", of an
// environment in the form of /proc/<id>/environ; "" if they say one node, or
// there are none. Understood: torchrun, Horovod, Open MPI, MVAPICH, Hydra
// (MPICH, Intel MPI) and Slurm. The innermost launcher decides: torchrun on
// one node of a Slurm job that has several is a job of one node.
std::string SeveralNodesText(absl::string_view environment);

// Thread-safe, and blocks nobody: a thread of its own reads environments. It
// may have to wait for a reader that itself waits for the daemon (the kernel
// reads them under the lock of the reader's memory map), so nobody who serves
// requests may read them.
class JobNodes {
 public:
  // An id may be given to another process, or a process run another program:
  // it is looked at again after this time.
  static constexpr std::chrono::milliseconds kValid{60000};
  static constexpr size_t kMostReaders = 8192;

  // `proc` is the mounted procfs; another directory of its shape in tests.
  explicit JobNodes(std::string proc = "/proc");
  ~JobNodes();

  // SeveralNodesText of process or thread `id`, not 0, at `now` (any clock
  // that does not run backwards); "" until it was looked at, and where that is
  // not allowed. Some 50 ns.
  std::string Of(uint32_t id, std::chrono::milliseconds now);

 private:
  struct Reader {
    std::chrono::milliseconds asked{0};
    std::string text;
  };
  void Run(const std::stop_token& stop);

  // Constant after construction.
  const ProcessTable processes_;

  Mutex mu_;
  CondVar changed_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<uint32_t, Reader> readers_ ABSL_GUARDED_BY(mu_);
  std::deque<uint32_t> queue_ ABSL_GUARDED_BY(mu_);
  std::jthread thread_ ABSL_GUARDED_BY(mu_);  // from the first question on
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_READERS_JOB_NODES_H_
