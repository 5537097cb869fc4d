// SPDX-License-Identifier: Apache-2.0
#include "core/pool/staged_sets.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

StagedSets::StagedSets(Parts parts, std::shared_ptr<const Dataset> dataset,
                       Mutex& mu, MiniEpochs* mini_epochs)
    : parts_(std::move(parts)),
      dataset_(std::move(dataset)),
      exist_(mini_epochs != nullptr),
      mu_(mu),
      mini_epochs_(mini_epochs) {}

std::vector<uint64_t> StagedSets::WantedSets() const {
  MutexLock lock(mu_);
  if (!exist_) return {};
  return mini_epochs_->WantedSets();
}

std::vector<StagedRange> StagedSets::RangesOf(uint64_t set) const {
  std::vector<SampleId> samples;
  {
    MutexLock lock(mu_);
    if (exist_) samples = mini_epochs_->SamplesOf(set);
  }
  const std::vector<uint64_t>& addresses = parts_.addresses;
  if (!addresses.empty()) {
    std::sort(samples.begin(), samples.end(), [&](SampleId a, SampleId b) {
      return addresses[a.value()] < addresses[b.value()];
    });
  }
  const Grouping& grouping = dataset_->grouping();
  std::vector<StagedRange> ranges;
  ranges.reserve(samples.size());
  for (const SampleId sample : samples) {
    for (uint32_t c = 0; c < grouping.columns(sample); ++c) {
      const EntryId file = grouping.member(sample, c);
      ranges.push_back({file, 0, dataset_->catalogue().file_size(file)});
    }
  }
  return ranges;
}

void StagedSets::SetReady(uint64_t set) {
  MutexLock lock(mu_);
  if (exist_) mini_epochs_->SetReady(set);
}

uint32_t StagedSets::OrdinalOf(SampleId name) const {
  MutexLock lock(mu_);
  return exist_ ? mini_epochs_->OrdinalOf(name) : 0;
}

absl::optional<SampleId> StagedSets::NameAt(SampleId sample,
                                            uint32_t ordinal) const {
  MutexLock lock(mu_);
  return mini_epochs_->NameAt(sample, ordinal);
}

void StagedSets::Opened(SampleId name) {
  MutexLock lock(mu_);
  if (exist_) mini_epochs_->Opened(name);
}

void StagedSets::Feedback(double loss) {
  {
    MutexLock lock(mu_);
    mini_epochs_->Feedback(loss);
  }
  TellRequests();
}

std::vector<uint32_t> StagedSets::learnt() const {
  MutexLock lock(mu_);
  if (!exist_) return {};
  return mini_epochs_->learnt();
}

std::string StagedSets::Served() const {
  MutexLock lock(mu_);
  return exist_ ? mini_epochs_->Served() : "";
}

std::string StagedSets::ServedNow() const {
  MutexLock lock(mu_);
  return exist_ ? mini_epochs_->ServedNow() : "";
}

absl::Status StagedSets::TakeServed(absl::string_view served) {
  MutexLock lock(mu_);
  return mini_epochs_->TakeServed(served);
}

absl::optional<MiniEpochStatus> StagedSets::status() const {
  MutexLock lock(mu_);
  if (!exist_) return absl::nullopt;
  return mini_epochs_->status();
}

TierStatus StagedSets::tier() const {
  return parts_.tier ? parts_.tier() : TierStatus();
}

void StagedSets::TellRequests() {
  if (!exist_ || !parts_.requests_changed) return;
  {
    MutexLock lock(mu_);
    const uint64_t version = mini_epochs_->requests_version();
    if (std::exchange(notified_version_, version) == version) return;
  }
  parts_.requests_changed();
}

}  // namespace shufflefs
