// SPDX-License-Identifier: Apache-2.0
// Keeps in the performance tier what plans want: takes up what an earlier run
// left, frees what is not wanted, copies what is missing, and begins again
// where that fails. One thread.
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
#include "core/staging/stager/tier.h"
#include "core/staging/stager/tier_copy.h"
#include "core/staging/stager/tier_plans.h"
#include "core/staging/stager/tier_reads.h"
#include "core/staging/stager/tier_wishes.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/tier_dir.h"
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

// Open, Start, Stop: the owner, one after the other. Follow, Changed and
// AskNow: any thread, and they wait for no device.
class TierStager {
 public:
  TierStager(Tier::Options options, std::shared_ptr<TierReads> reads);
  ~TierStager();

  // The first look at the directory, before Start. Errors: FailedPrecondition
  // alone; all else is trouble.
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
  absl::Status Enter();  // opens the directory and takes up what is there
  void LeaveDir();
  absl::Status TakeUp(TierDir& dir);
  // Asks what is wanted now; the plan that said so.
  std::shared_ptr<StagingPlan> Refresh();
  bool WishesChanged();
  void FreeUnwanted(const StagingPlan& plan);
  bool RemoveDoomed();
  TierRanges Missing(const TierWishes::Set& set) const;
  // Whether readers bring all of these just now.
  bool Brought(const TierRanges& missing) const;

  // Constant after construction.
  const Tier::Options options_;
  // Self-synchronised.
  const std::shared_ptr<TierReads> reads_;
  TierPlans plans_;

  // Of the thread, and of Open before it.
  TierCopy copy_;
  std::unique_ptr<Place> place_;  // null while it cannot be used
  bool was_mountpoint_ = false;
  std::weak_ptr<StagingPlan> plan_;  // whose wishes these are
  std::shared_ptr<const TierWishes> wishes_;
  std::set<uint64_t> told_;  // sets that are ready

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_STAGER_H_
