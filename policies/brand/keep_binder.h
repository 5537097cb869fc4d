// SPDX-License-Identifier: Apache-2.0
// KeepBinder is the binder of `static`. Names show their own samples. It never
// says that a fetched sample is no longer needed, so the sample stays in
// memory.
#ifndef SHUFFLEFS_POLICIES_BRAND_KEEP_BINDER_H_
#define SHUFFLEFS_POLICIES_BRAND_KEEP_BINDER_H_

#include <vector>

#include "core/policy/binder.h"

namespace shufflefs {

// Memory: none in addition to BinderInput. Cost: O(1) per call.
class KeepBinder : public Binder {
 public:
  // `input` outlives the binder.
  explicit KeepBinder(const BinderInput& input) : input_(input) {}

  void BeginEpoch(Seed, Epoch, absl::Span<const NameBinding>) override {}
  SampleId Bind(SampleId name) override { return name; }
  absl::optional<SampleId> Bound(SampleId name) const override { return name; }
  absl::optional<SampleId> NameOf(SampleId sample) const override {
    return sample;
  }
  // Fetches nothing that no reader asked for.
  std::vector<SampleId> NextFetch(uint64_t) override { return {}; }
  std::vector<SampleId> FetchChunkOf(SampleId sample, uint64_t room) override;
  void Bypassed(SampleId) override {}
  void Arrived(SampleId) override {}
  void Left(SampleId) override {}
  bool fetched_all() const override { return true; }
  bool fetched_ahead(SampleId) const override { return true; }
  BinderCounts counts() const override { return counts_; }

 private:
  // Constant after construction.
  const BinderInput& input_;

  BinderCounts counts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_KEEP_BINDER_H_
