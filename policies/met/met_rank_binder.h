// SPDX-License-Identifier: Apache-2.0
// MetRankBinder is met under ranked names. Names show their own samples, and
// the order of the epoch (policies/met/met_plan.h) says what is read next. The
// binder detects from the reads which mini-epoch readers are in, and wants that
// one and the next.
//
// Memory: 10 bytes per sample in addition to BinderInput. Cost: O(1) per read.
#ifndef SHUFFLEFS_POLICIES_MET_MET_RANK_BINDER_H_
#define SHUFFLEFS_POLICIES_MET_MET_RANK_BINDER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/policy/binder.h"
#include "core/policy/mini_epochs.h"
#include "policies/met/met_plan.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it.
class MetRankBinder : public Binder, public MiniEpochs {
 public:
  // `input` outlives the binder.
  MetRankBinder(const MetOptions& options, const BinderInput& input);

  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const NameBinding> bound) override;
  SampleId Bind(SampleId name) override { return name; }
  absl::optional<SampleId> Bound(SampleId name) const override { return name; }
  absl::optional<SampleId> NameOf(SampleId sample) const override {
    return sample;
  }
  std::vector<SampleId> NextFetch(uint64_t) override { return {}; }
  std::vector<SampleId> FetchChunkOf(SampleId sample, uint64_t room) override;
  void Bypassed(SampleId sample) override { NoteRead(sample); }
  void Arrived(SampleId) override {}
  void Left(SampleId) override {}
  bool fetched_all() const override { return true; }
  bool fetched_ahead(SampleId) const override { return false; }
  BinderCounts counts() const override { return counts_; }
  MiniEpochs* mini_epochs() override { return this; }

  std::vector<uint64_t> WantedSets() const override;
  std::vector<SampleId> SamplesOf(uint64_t set) const override;
  void SetReady(uint64_t set) override { ready_.insert(set); }
  uint64_t requests_version() const override { return requests_version_; }
  uint32_t OrdinalOf(SampleId) const override { return 0; }
  absl::optional<SampleId> NameAt(SampleId sample, uint32_t) const override {
    return sample;
  }
  void Opened(SampleId) override {}
  void Feedback(double) override {}
  const std::vector<uint32_t>& learnt() const override { return learnt_; }
  std::string Served() const override { return ""; }
  std::string ServedNow() const override { return ""; }
  absl::Status TakeServed(absl::string_view) override {
    return absl::OkStatus();
  }
  MiniEpochStatus status() const override;

 private:
  void NoteRead(SampleId sample);
  void MoveTo(uint32_t mini);
  // The set after the current mini-epoch.
  uint64_t NextSet() const;
  uint64_t SetOf(uint64_t pass, uint32_t mini) const;

  // Constant after construction.
  const MetOptions options_;
  const BinderInput& input_;
  const uint32_t count_;    // mini-epochs per pass
  const uint64_t largest_;  // bytes of a sample that is read as a whole
  const std::vector<uint32_t> learnt_;  // always empty

  Seed seed_{0};
  bool begun_ = false;
  MetEpoch epoch_;
  // What is added to passes in the numbers of sets: it grows with each seed, so
  // that no set has the number of other samples.
  uint64_t base_ = 0;
  uint64_t last_ = 0;                  // the largest pass with base_ so far
  absl::optional<MetPass> pass_;       // that of the epoch
  absl::optional<MetPass> next_pass_;  // the one after it
  std::vector<uint32_t> mini_of_;      // by sample, in pass_
  uint32_t current_ = 0;               // mini-epoch
  // Counts up with each read of another mini-epoch, and down with each read of
  // the current one.
  uint32_t elsewhere_ = 0;
  std::set<uint64_t> ready_;
  uint64_t requests_version_ = 0;
  BinderCounts counts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_RANK_BINDER_H_
