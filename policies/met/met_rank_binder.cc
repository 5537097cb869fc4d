// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_rank_binder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr uint64_t kLargestRanked = 4;
// The current mini-epoch ends after this many more reads of others than of it.
// The margin is needed because readers of a batch come in any order.
constexpr uint32_t kElsewhere = 64;

MetPlanInput PlanOf(const BinderInput& input, Seed seed) {
  return {input.grouping, input.dataset_key, seed};
}

}  // namespace

MetRankBinder::MetRankBinder(const MetOptions& options,
                             const BinderInput& input)
    : options_(options),
      input_(input),
      count_(
          static_cast<uint32_t>(std::max<uint64_t>(options_.mini_epochs, 1))),
      largest_(input.memory_bytes / kLargestRanked) {}

void MetRankBinder::BeginEpoch(Seed seed, Epoch epoch,
                               absl::Span<const NameBinding>) {
  const MetEpoch of = MetEpochOf(options_, epoch);
  if (begun_ && seed != seed_) {
    // Other samples need other numbers. Those of a single set are always all.
    base_ = last_ + 1;
    if (count_ > 1) ready_.clear();
  }
  if (!begun_ || of.pass != epoch_.pass || seed != seed_) {
    pass_.emplace(MakeMetPass(options_, PlanOf(input_, seed), of.pass));
    next_pass_.emplace(
        MakeMetPass(options_, PlanOf(input_, seed), of.pass + 1));
    mini_of_.assign(input_.grouping->sample_count(), 0);
    for (uint32_t m = 0; m < count_; ++m) {
      for (uint32_t g = 0; g < input_.grouping->group_count(); ++g) {
        for (const uint32_t sample : pass_->share(g, m)) mini_of_[sample] = m;
      }
    }
  }
  epoch_ = of;
  seed_ = seed;
  begun_ = true;
  last_ = std::max(last_, base_ + of.pass + 1);
  // Finds where the epoch's part of the pass begins.
  const uint64_t samples = mini_of_.size();
  uint64_t at = 0;
  uint32_t mini = 0;
  while (mini + 1 < count_ &&
         at + of.factor * pass_->size(mini) <= of.part * samples) {
    at += of.factor * pass_->size(mini++);
  }
  MoveTo(mini);
}

void MetRankBinder::MoveTo(uint32_t mini) {
  current_ = mini;
  elsewhere_ = 0;
  ++requests_version_;
  if (count_ > 1) {
    ready_.erase(ready_.begin(), ready_.lower_bound(SetOf(epoch_.pass, mini)));
  }
}

void MetRankBinder::NoteRead(SampleId sample) {
  const uint32_t mini = mini_of_[sample.value()];
  const bool ready = ready_.contains(SetOf(epoch_.pass, mini));
  ++(ready ? counts_.hits : counts_.misses);
  if (mini == current_) {
    elsewhere_ -= elsewhere_ > 0;
  } else if (++elsewhere_ >= kElsewhere ||
             // Readers have begun the next one.
             (mini == current_ + 1 && elsewhere_ >= kElsewhere / 4)) {
    MoveTo(mini);
  }
}

std::vector<SampleId> MetRankBinder::FetchChunkOf(SampleId sample,
                                                  uint64_t room) {
  const uint64_t bytes = input_.bytes[sample.value()];
  if (bytes > room || bytes > largest_) return {};
  NoteRead(sample);
  return {sample};
}

uint64_t MetRankBinder::SetOf(uint64_t pass, uint32_t mini) const {
  return count_ == 1 ? 0 : (base_ + pass) * count_ + mini;
}

uint64_t MetRankBinder::NextSet() const {
  return current_ + 1 < count_ ? SetOf(epoch_.pass, current_ + 1)
                               : SetOf(epoch_.pass + 1, 0);
}

std::vector<uint64_t> MetRankBinder::WantedSets() const {
  if (!begun_) return {};
  std::vector<uint64_t> wanted = {SetOf(epoch_.pass, current_)};
  if (count_ > 1) wanted.push_back(NextSet());
  return wanted;
}

std::vector<SampleId> MetRankBinder::SamplesOf(uint64_t set) const {
  std::vector<SampleId> samples;
  if (!begun_) return samples;
  const uint64_t first = base_ + epoch_.pass;
  const bool next = count_ > 1 && set / count_ == first + 1;
  if (count_ > 1 && !next && set / count_ != first) return samples;
  const auto mini = static_cast<uint32_t>(set % count_);
  const MetPass& pass = next ? *next_pass_ : *pass_;
  for (uint32_t g = 0; g < input_.grouping->group_count(); ++g) {
    for (const uint32_t sample : pass.share(g, mini)) {
      samples.emplace_back(sample);
    }
  }
  return samples;
}

MiniEpochStatus MetRankBinder::status() const {
  MiniEpochStatus status;
  status.pass = epoch_.pass;
  status.mini_epoch = current_;
  status.mini_epochs = count_;
  status.factor = epoch_.factor;
  status.why = options_.epochs == 0 ? "1, because met.epochs is not set"
               : options_.repeat == 0
                   ? "1: auto needs an order that is not known beforehand"
                   : absl::StrCat(epoch_.factor, ", as met.repeat says");
  status.ready = ready_.contains(SetOf(epoch_.pass, current_));
  return status;
}

}  // namespace shufflefs
