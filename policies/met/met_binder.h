// SPDX-License-Identifier: Apache-2.0
// MetBinder is met under a framework's own sampler. A name shows the next
// sample of its group (policies/met/met_progress.h). So what readers ask for is
// in the performance tier, whichever names they draw, and the samples that come
// next are fetched from there into memory (policies/met/met_look_ahead.h).
//
// Within an epoch a name shows one sample; several names, or none, may show a
// sample. A name that was bound and never opened counts as not shown. Memory:
// 28 bytes per sample in addition to BinderInput and the progress. Cost: O(1)
// per name, some 100 ns; BeginEpoch linear.
#ifndef SHUFFLEFS_POLICIES_MET_MET_BINDER_H_
#define SHUFFLEFS_POLICIES_MET_MET_BINDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/bitmap.h"
#include "core/policy/binder.h"
#include "core/policy/mini_epochs.h"
#include "policies/met/count_spread.h"
#include "policies/met/met_look_ahead.h"
#include "policies/met/met_progress.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it.
class MetBinder : public Binder, public MiniEpochs {
 public:
  // `input` outlives the binder.
  MetBinder(const MetOptions& options, const BinderInput& input);

  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const NameBinding> bound) override;
  SampleId Bind(SampleId name) override;
  absl::optional<SampleId> Bound(SampleId name) const override;
  absl::optional<SampleId> NameOf(SampleId sample) const override;
  std::vector<SampleId> NextFetch(uint64_t room) override {
    return ahead_.NextFetch(room);
  }
  std::vector<SampleId> FetchChunkOf(SampleId sample, uint64_t room) override;
  void Bypassed(SampleId) override {}
  void Arrived(SampleId sample) override { ahead_.Arrived(IdOf(sample)); }
  void Left(SampleId sample) override { ahead_.Left(IdOf(sample)); }
  // An epoch has no end here: the order goes on over it.
  bool fetched_all() const override { return false; }
  // A later name shows it, of this epoch or of the next.
  bool fetched_ahead(SampleId sample) const override {
    return ahead_.Awaits(IdOf(sample));
  }
  BinderCounts counts() const override { return counts_; }
  MiniEpochs* mini_epochs() override { return this; }

  std::vector<uint64_t> WantedSets() const override;
  std::vector<SampleId> SamplesOf(uint64_t set) const override {
    return progress_.SamplesOf(set);
  }
  void SetReady(uint64_t set) override;
  uint64_t requests_version() const override {
    return progress_.requests_version() + begun_;
  }
  uint32_t OrdinalOf(SampleId name) const override {
    return ordinal_[IdOf(name)];
  }
  absl::optional<SampleId> NameAt(SampleId sample,
                                  uint32_t ordinal) const override;
  void Opened(SampleId name) override { opened_.Set(name.value()); }
  void Feedback(double loss) override { progress_.Feedback(loss); }
  const std::vector<uint32_t>& learnt() const override {
    return progress_.learnt();
  }
  std::string Served() const override { return served_then_; }
  std::string ServedNow() const override;
  absl::Status TakeServed(absl::string_view served) override;
  MiniEpochStatus status() const override;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static uint32_t IdOf(SampleId id) {
    return static_cast<uint32_t>(id.value());
  }
  // Skips the names that the ending epoch did not open.
  void SkipUnopened();
  // Returns whether the ending epoch read a part of a group only.
  bool WasCutShort() const;
  void Note(uint32_t name, uint32_t sample, bool opened);
  // Calls visit for each name that was bound and never opened. Its sample was
  // not shown.
  template <typename Visit>
  void ForEachUnopened(Visit&& visit) const;
  // How often each sample was bound, by names of all epochs.
  std::vector<uint32_t> Taken() const;
  // A name was bound to the sample.
  void CountTaken(uint32_t sample);

  // Constant after construction.
  const BinderInput& input_;
  const uint64_t largest_;  // bytes of a sample that is read as a whole
  // Nothing is repeated: each epoch is a pass of its own.
  const bool one_a_pass_;

  MetProgress progress_;
  MetLookAhead ahead_;  // of progress_
  Seed seed_{0};
  uint64_t begun_ = 0;               // epochs
  std::vector<uint32_t> resumed_;    // counts of an earlier run, or empty
  std::string served_then_;          // Served() when this epoch began
  std::vector<uint32_t> sample_of_;  // by name, or kNone
  std::vector<uint32_t> last_name_;  // by sample, or kNone
  // The names of a sample form a list, the last bound first. By name: the name
  // before it, and how many are before it.
  std::vector<uint32_t> before_;
  std::vector<uint32_t> ordinal_;
  Bitmap opened_;
  CountSpread taken_;  // of Taken()
  BinderCounts counts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_BINDER_H_
