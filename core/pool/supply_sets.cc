// SPDX-License-Identifier: Apache-2.0
// The part of Supply that passes calls to and from a binder with mini-epochs.
#include <algorithm>
#include <utility>

#include "core/pool/supply.h"

namespace shufflefs {

uint32_t Supply::OrdinalOf(SampleId name) const {
  MutexLock lock(mu_);
  return repeats_ ? binder_->mini_epochs()->OrdinalOf(name) : 0;
}

absl::optional<SampleId> Supply::NameAt(SampleId sample,
                                        uint32_t ordinal) const {
  MutexLock lock(mu_);
  return binder_->mini_epochs()->NameAt(sample, ordinal);
}

void Supply::Opened(SampleId name) {
  MutexLock lock(mu_);
  if (repeats_) binder_->mini_epochs()->Opened(name);
}

std::string Supply::Served() const {
  MutexLock lock(mu_);
  return repeats_ ? binder_->mini_epochs()->Served() : "";
}

std::string Supply::ServedNow() const {
  MutexLock lock(mu_);
  return repeats_ ? binder_->mini_epochs()->ServedNow() : "";
}

absl::Status Supply::TakeServed(absl::string_view served) {
  MutexLock lock(mu_);
  return binder_->mini_epochs()->TakeServed(served);
}

void Supply::Feedback(double loss) {
  {
    MutexLock lock(mu_);
    binder_->mini_epochs()->Feedback(loss);
  }
  TellRequests();
}

std::vector<uint32_t> Supply::learnt() const {
  MutexLock lock(mu_);
  if (!repeats_) return {};
  return binder_->mini_epochs()->learnt();
}

absl::optional<MiniEpochStatus> Supply::mini_epoch() const {
  MutexLock lock(mu_);
  if (!repeats_) return absl::nullopt;
  return binder_->mini_epochs()->status();
}

TierStatus Supply::tier() const { return tier_ ? tier_() : TierStatus(); }

std::vector<uint64_t> Supply::WantedSets() const {
  MutexLock lock(mu_);
  if (!repeats_) return {};
  return binder_->mini_epochs()->WantedSets();
}

std::vector<StagedRange> Supply::RangesOf(uint64_t set) const {
  std::vector<SampleId> samples;
  {
    MutexLock lock(mu_);
    if (repeats_) samples = binder_->mini_epochs()->SamplesOf(set);
  }
  if (!addresses_.empty()) {
    std::sort(samples.begin(), samples.end(), [this](SampleId a, SampleId b) {
      return addresses_[a.value()] < addresses_[b.value()];
    });
  }
  std::vector<StagedRange> ranges;
  ranges.reserve(samples.size());
  for (const SampleId sample : samples) {
    for (uint32_t c = 0; c < Columns(sample); ++c) {
      const EntryId file = Member(sample, c);
      ranges.push_back({file, 0, dataset_->catalogue().file_size(file)});
    }
  }
  return ranges;
}

void Supply::SetReady(uint64_t set) {
  MutexLock lock(mu_);
  if (repeats_) binder_->mini_epochs()->SetReady(set);
}

void Supply::TellRequests() {
  if (!repeats_ || !requests_changed_) return;
  {
    MutexLock lock(mu_);
    const uint64_t requests = binder_->mini_epochs()->requests_version();
    if (std::exchange(told_requests_, requests) == requests) return;
  }
  requests_changed_();
}

}  // namespace shufflefs
