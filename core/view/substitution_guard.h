// SPDX-License-Identifier: Apache-2.0
// When a view stops substituting: a split that the client makes, or a job of
// several nodes under a policy that binds by the memory of one.
#ifndef SHUFFLEFS_CORE_VIEW_SUBSTITUTION_GUARD_H_
#define SHUFFLEFS_CORE_VIEW_SUBSTITUTION_GUARD_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/epoch/split_suspicion.h"
#include "core/readers/job_nodes.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. What it has found out it never
// forgets, but what it says depends on the setup.
class SubstitutionGuard {
 public:
  // `view` is a name for the log. `nodes` outlives the guard; may be null.
  SubstitutionGuard(std::string view, JobNodes* nodes)
      : view_(std::move(view)), nodes_(nodes) {}

  // The first suspicion counts.
  void Suspect(Suspicion suspicion);
  // Asks whether the reader's job spans several nodes. True when that is so,
  // matters to `setup` and was not known before. May read /proc.
  bool LearnNodes(const ViewSetup& setup, uint32_t reader,
                  std::chrono::milliseconds now);
  // Whether names are to keep their own samples from the next boundary on.
  bool Stops(const ViewSetup& setup) const {
    return !suspected_.empty() || NodesUnclear(setup);
  }
  // Why.
  std::vector<std::string> Warnings(const ViewSetup& setup) const;

 private:
  bool NodesUnclear(const ViewSetup& setup) const;

  const std::string view_;
  JobNodes* const nodes_;
  std::string suspected_;      // a warning, or ""
  std::string several_nodes_;  // a warning, or ""
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_SUBSTITUTION_GUARD_H_
