// SPDX-License-Identifier: Apache-2.0
// NamePredictor says which names a job on this node looks up next. It learns
// the order from lookups, as SamplerPrefetcher does from opens. But it asks for
// names, not for files: nodes that share the names of a view (SharedNames) ask
// their owners for several at a time.
//
// A wrong prediction binds a name early. That never shows a sample twice,
// because a name keeps its sample for the epoch.
#ifndef SHUFFLEFS_CORE_SAMPLER_NAME_PREDICTOR_H_
#define SHUFFLEFS_CORE_SAMPLER_NAME_PREDICTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/readers/job_tracker.h"
#include "core/sampler/job_finder.h"

namespace shufflefs {

// Thread-safe. No call waits for a device or a node.
class NamePredictor {
 public:
  struct Parts {
    std::shared_ptr<const Dataset> dataset;
    JobTracker* job_tracker = nullptr;  // outlives this
    // How many names to ask for ahead of the job. At least 2.
    uint64_t most = 0;
    // These names are looked up next, the most urgent first. Called by a thread
    // of this object; must not block. May be called until Stop.
    std::function<void(const std::vector<SampleId>& names)> ask;
  };
  explicit NamePredictor(Parts parts);
  ~NamePredictor() { Stop(); }
  void Stop();

  // Thread `reader` (0 = hidden) looked the name up, at most some milliseconds
  // ago. May read /proc.
  void OnLookup(EntryId name, uint32_t reader, std::chrono::milliseconds now);

 private:
  struct Seen {
    EntryId name;
    uint32_t reader = 0;
    std::chrono::milliseconds now{0};
  };
  void Run(std::stop_token stop);
  // If it `waits`, blocks until a name was looked up or `stop` is requested.
  std::vector<Seen> TakeSeen(std::stop_token stop, bool waits)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Asks for what the job looks up next, if fewer than half of `most` names are
  // ahead of it.
  void Predict(JobFinder::Found& found);

  // Constant after construction.
  const Parts parts_;

  // Of the thread.
  JobFinder jobs_;

  Mutex mu_;
  CondVar has_seen_;
  std::vector<Seen> seen_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // last: it uses the rest
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_NAME_PREDICTOR_H_
