// SPDX-License-Identifier: Apache-2.0
// JobNodes finds out whether a reader's job spans several nodes, from the
// environment that its launcher set.
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

// The variables that show several nodes, such as "WORLD_SIZE=16,
// LOCAL_WORLD_SIZE=8". `environment` has the form of /proc/<id>/environ. "" if
// they say one node, or if there are none. Supports torchrun, Horovod, Open
// MPI, MVAPICH, Hydra (MPICH, Intel MPI) and Slurm. The innermost launcher
// decides: torchrun on one node of a Slurm job of several nodes is a job of one
// node.
std::string SeveralNodesText(absl::string_view environment);

// Thread-safe and never blocks a caller: a separate thread reads environments.
// That thread may have to wait for a reader that itself waits for the daemon
// (the kernel reads an environment under the lock of the reader's memory map).
// So no thread that serves requests may read them.
class JobNodes {
 public:
  // The environment is read again after this time, because an id may be reused
  // or a process may run another program.
  static constexpr std::chrono::milliseconds kValid{60000};
  static constexpr size_t kMostReaders = 8192;

  // `proc` is the mounted procfs. Tests pass another directory of the same
  // form.
  explicit JobNodes(std::string proc = "/proc");
  ~JobNodes();

  // SeveralNodesText of process or thread `id` (not 0) at `now` (any clock that
  // does not run backwards). "" until its environment was read, or if that is
  // not allowed. Takes about 50 ns.
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
  std::jthread thread_ ABSL_GUARDED_BY(mu_);  // started by the first question
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_READERS_JOB_NODES_H_
