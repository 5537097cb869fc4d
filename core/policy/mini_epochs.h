// SPDX-License-Identifier: Apache-2.0
// What a binder tells and is told besides, where it shows a part of the samples
// several times before the next part: mini-epochs (MET).
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
  uint64_t pass = 0;         // over all samples, counted since the mount
  uint64_t mini_epoch = 0;   // of the pass, from 0; the one that most are in
  uint64_t mini_epochs = 1;  // of a pass
  uint64_t repetition = 1;   // from 1: the furthest of that mini-epoch
  uint64_t factor = 1;       // repetitions that it has at least, as known now
  std::string why;           // of the factor
  bool ready = false;        // it is in the tier
  uint64_t fewest = 0;       // times that a sample was shown in its life
  uint64_t most = 0;
};

// Not thread-safe: a part of a binder, which its view's lock guards.
class MiniEpochs {
 public:
  virtual ~MiniEpochs() = default;

  // As StagingPlan's (core/staging/staging_plan.h), in samples.
  virtual std::vector<uint64_t> WantedSets() const = 0;
  virtual std::vector<SampleId> SamplesOf(uint64_t set) const = 0;
  virtual void SetReady(uint64_t set) = 0;
  // Another number whenever WantedSets gives something else.
  virtual uint64_t wishes() const = 0;

  // Names that show one sample are told apart by their ordinal: 0 for that
  // which was bound first in this epoch. REQUIRES: `name` is bound.
  virtual uint32_t OrdinalOf(SampleId name) const = 0;
  // Nothing where so many names of this epoch do not show the sample.
  virtual absl::optional<SampleId> NameAt(SampleId sample,
                                          uint32_t ordinal) const = 0;
  // What `name` shows was opened. What is bound and not opened by the end of
  // the epoch was not shown.
  virtual void Opened(SampleId name) = 0;

  // A loss that the job tells; less is better.
  virtual void Feedback(double loss) = 0;
  // The factors of the mini-epochs so far; for the next run of the job.
  virtual const std::vector<uint32_t>& learnt() const = 0;

  // How often each sample was shown before the epoch that BeginEpoch began
  // last: a later run is given it before its first BeginEpoch. Errors:
  // DataLoss where it is not of as many samples.
  virtual std::string Served() const = 0;
  // The same with what this epoch has shown so far.
  virtual std::string ServedNow() const = 0;
  virtual absl::Status TakeServed(absl::string_view served) = 0;

  virtual MiniEpochStatus status() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_MINI_EPOCHS_H_
