// SPDX-License-Identifier: Apache-2.0
// SubstitutionGuard decides when a view stops substituting samples. There are
// two reasons: the client splits the names itself, or a job of several nodes
// uses a policy that binds by the memory of one node.
#ifndef SHUFFLEFS_CORE_VIEW_SUBSTITUTION_GUARD_H_
#define SHUFFLEFS_CORE_VIEW_SUBSTITUTION_GUARD_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/epoch/split_suspicion.h"
#include "core/ledger/ledger_format.h"
#include "core/readers/job_nodes.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. It never forgets what it
// detected, but its verdict depends on the setup.
class SubstitutionGuard {
 public:
  // `view` is the name for the log. `nodes` outlives the guard and may be null.
  SubstitutionGuard(std::string view, JobNodes* nodes)
      : view_(std::move(view)), nodes_(nodes) {}

  // Only the first suspicion counts.
  void Suspect(Suspicion suspicion);
  // An epoch of an earlier run goes on, which may have suspected a split.
  void GoOn(const LedgerEpoch& then, const ViewSetup& setup);
  // Checks whether the reader's job spans several nodes. Returns true if so, if
  // `setup` is affected, and if this was not known before. May read /proc.
  bool LearnNodes(const ViewSetup& setup, uint32_t reader,
                  std::chrono::milliseconds now);
  // Returns whether names must keep their own samples from the next boundary
  // on.
  bool Stops(const ViewSetup& setup) const {
    return !suspected_.empty() || NodesUnclear(setup);
  }
  // The record of an epoch, with what the next run has to know.
  LedgerEpoch Marked(LedgerEpoch record) const {
    record.suspected = !suspected_.empty();
    return record;
  }
  // The reasons for Stops, as warnings.
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
