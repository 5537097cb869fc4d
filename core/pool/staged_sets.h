// SPDX-License-Identifier: Apache-2.0
// StagedSets is the part of a producer that serves mini-epochs. A tier asks it
// what to copy, the view tells it what was shown and what the job reports, and
// it passes all that to the producer's binder under the producer's lock.
#ifndef SHUFFLEFS_CORE_POOL_STAGED_SETS_H_
#define SHUFFLEFS_CORE_POOL_STAGED_SETS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/policy/mini_epochs.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier_status.h"

namespace shufflefs {

// Thread-safe. No method blocks. Those without a comment are as in MiniEpochs.
// Without mini-epochs nothing is wanted and nothing was learnt; REQUIRES, for
// NameAt, Feedback and TakeServed: there are some.
class StagedSets : public StagingPlan {
 public:
  struct Parts {
    // Called with no lock held, after the binder began to want other sets. May
    // be empty.
    std::function<void()> requests_changed;
    // By SampleId, the places of the samples on a device that seeks; otherwise
    // empty.
    std::vector<uint64_t> addresses;
    // What the tier does, for `status`. May be empty.
    std::function<TierStatus()> tier;
  };
  // `mini_epochs` may be null. `mu` guards it; both outlive this object.
  StagedSets(Parts parts, std::shared_ptr<const Dataset> dataset, Mutex& mu,
             MiniEpochs* mini_epochs);

  bool exist() const { return exist_; }

  std::vector<uint64_t> WantedSets() const override;
  std::vector<StagedRange> RangesOf(uint64_t set) const override;
  void SetReady(uint64_t set) override;

  uint32_t OrdinalOf(SampleId name) const;
  absl::optional<SampleId> NameAt(SampleId sample, uint32_t ordinal) const;
  void Opened(SampleId name);
  void Feedback(double loss);
  std::vector<uint32_t> learnt() const;
  std::string Served() const;
  std::string ServedNow() const;
  absl::Status TakeServed(absl::string_view served);
  absl::optional<MiniEpochStatus> status() const;
  TierStatus tier() const;

  // Calls requests_changed if the sets that are wanted differ from those told
  // last.
  void TellRequests();

 private:
  // Constant after construction.
  const Parts parts_;
  const std::shared_ptr<const Dataset> dataset_;
  const bool exist_;

  Mutex& mu_;  // the producer's
  MiniEpochs* const mini_epochs_ ABSL_PT_GUARDED_BY(mu_);
  uint64_t notified_version_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_STAGED_SETS_H_
