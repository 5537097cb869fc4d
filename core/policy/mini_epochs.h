// SPDX-License-Identifier: Apache-2.0
// The additional interface of a binder that shows a part of the samples several
// times before the next part: mini-epochs (MET).
#ifndef SHUFFLEFS_CORE_POLICY_MINI_EPOCHS_H_
#define SHUFFLEFS_CORE_POLICY_MINI_EPOCHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/types.h"

namespace shufflefs {

struct MiniEpochStatus {
  uint64_t pass = 0;        // number of passes over all samples since the mount
  uint64_t mini_epoch = 0;  // of the pass, from 0; the one that most are in
  uint64_t mini_epochs = 1;  // per pass
  uint64_t repetition = 1;   // from 1: the furthest of that mini-epoch
  uint64_t factor = 1;       // repetitions so far planned for it, at least
  std::string why;           // reason for the factor
  bool ready = false;        // the mini-epoch is in the tier
  uint64_t fewest = 0;       // lifetime minimum of a sample's times shown
  uint64_t most = 0;
};

// Not thread-safe: it is part of a binder, which its view's lock guards.
class MiniEpochs {
 public:
  virtual ~MiniEpochs() = default;

  // As in StagingPlan (core/staging/staging_plan.h), for samples.
  virtual std::vector<uint64_t> WantedSets() const = 0;
  virtual std::vector<SampleId> SamplesOf(uint64_t set) const = 0;
  virtual void SetReady(uint64_t set) = 0;
  // Changes whenever the result of WantedSets changes.
  virtual uint64_t requests_version() const = 0;

  // The ordinal distinguishes names that show one sample: 0 for the name that
  // was bound first in this epoch. REQUIRES: `name` is bound.
  virtual uint32_t OrdinalOf(SampleId name) const = 0;
  // Empty if fewer names of this epoch show the sample.
  virtual absl::optional<SampleId> NameAt(SampleId sample,
                                          uint32_t ordinal) const = 0;
  // The sample of `name` was opened. A sample that is bound but not opened by
  // the end of the epoch was not shown.
  virtual void Opened(SampleId name) = 0;

  // A loss that the job reports; lower is better.
  virtual void Feedback(double loss) = 0;
  // The factors of the mini-epochs so far, for the next run of the job.
  virtual const std::vector<uint32_t>& learnt() const = 0;

  // How often each sample was shown before the epoch that BeginEpoch began
  // last. A later run passes it to TakeServed before its first BeginEpoch.
  // TakeServed returns DataLoss if the number of samples differs.
  virtual std::string Served() const = 0;
  // The same, including what this epoch has shown so far.
  virtual std::string ServedNow() const = 0;
  virtual absl::Status TakeServed(absl::string_view served) = 0;

  virtual MiniEpochStatus status() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_MINI_EPOCHS_H_
