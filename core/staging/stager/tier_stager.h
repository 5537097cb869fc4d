// SPDX-License-Identifier: Apache-2.0
// TierStager keeps in the performance tier what plans want. It takes over what
// an earlier run left, frees what is not wanted, copies what is missing, and
// starts again if that fails. It has one thread.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_STAGER_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_STAGER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "core/io/file_reader.h"
#include "core/staging/stager/staging_requests.h"
#include "core/staging/stager/tier.h"
#include "core/staging/stager/tier_copy.h"
#include "core/staging/stager/tier_plans.h"
#include "core/staging/stager/tier_reads.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/tier_dir.h"
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

// Only the owner calls Open, Start and Stop, one after the other. Any thread
// may call Follow, Changed and AskNow, which wait for no device.
class TierStager {
 public:
  TierStager(Tier::Options options, std::shared_ptr<TierReads> reads);
  ~TierStager();

  // Opens the directory for the first time, before Start. Errors: only
  // FailedPrecondition; every other error becomes trouble.
  absl::Status Open();
  void Start();
  // Joins the thread and leaves the directory.
  void Stop();

  void Follow(std::weak_ptr<StagingPlan> plan);
  void Changed() { reads_->signal().Raise(); }
  void AskNow();
  const TierCopy& copy() const { return copy_; }

 private:
  struct Place;
  enum class Next { kAgain, kIdle };

  void Run();
  absl::StatusOr<Next> Step();
  absl::Status Enter();  // opens the directory and takes over its parts
  void LeaveDir();
  absl::Status TakeUp(TierDir& dir);
  // Asks what is wanted now. Returns the plan that answered.
  std::shared_ptr<StagingPlan> Refresh();
  bool RequestsChanged();
  void FreeUnwanted(const StagingPlan& plan);
  bool RemovePending();
  TierRanges Missing(const StagingRequests::Set& set) const;
  // Returns whether readers are bringing all of these now.
  bool Brought(const TierRanges& missing) const;

  // Constant after construction.
  const Tier::Options options_;
  // Self-synchronised.
  const std::shared_ptr<TierReads> reads_;
  TierPlans plans_;

  // Used by the thread, and by Open before it starts.
  TierCopy copy_;
  std::unique_ptr<Place> place_;  // null while the directory cannot be used
  bool was_mountpoint_ = false;
  std::weak_ptr<StagingPlan> plan_;  // the plan that gave requests_
  std::shared_ptr<const StagingRequests> requests_;
  std::set<uint64_t> notified_;  // sets that were reported ready

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_STAGER_H_
