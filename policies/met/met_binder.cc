// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_binder.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/ledger/served_counts.h"

namespace shufflefs {
namespace {

// A sample larger than this part of the memory is read in pieces.
constexpr uint64_t kLargestOfMemory = 4;

}  // namespace

MetBinder::MetBinder(const MetOptions& options, const BinderInput& input)
    : input_(input),
      largest_(input.memory_bytes / kLargestOfMemory),
      one_a_pass_(options.epochs <= 1),
      progress_(options, input),
      ahead_(input, MetProgress::MiniEpochsFor(options, input), progress_),
      sample_of_(input.grouping->sample_count(), kNone),
      last_name_(sample_of_.size(), kNone),
      before_(sample_of_.size(), kNone),
      ordinal_(sample_of_.size()),
      opened_(sample_of_.size()) {}

absl::Status MetBinder::TakeServed(absl::string_view served) {
  ASSIGN_OR_RETURN(resumed_, UnpackCounts(served, sample_of_.size()));
  return absl::OkStatus();
}

template <typename Visit>
void MetBinder::ForEachUnopened(Visit&& visit) const {
  for (uint32_t name = 0; name < sample_of_.size(); ++name) {
    if (sample_of_[name] != kNone && !opened_.Get(name)) {
      visit(sample_of_[name]);
    }
  }
}

std::vector<uint32_t> MetBinder::Taken() const {
  std::vector<uint32_t> counts = progress_.served();
  ahead_.Subtract(counts);
  return counts;
}

void MetBinder::SetReady(uint64_t set) {
  progress_.SetReady(set);
  ahead_.Recheck();
}

MiniEpochStatus MetBinder::status() const {
  MiniEpochStatus status = progress_.status();
  status.fewest = taken_.least();
  status.most = taken_.most();
  return status;
}

void MetBinder::CountTaken(uint32_t sample) {
  taken_.Raise(progress_.served()[sample] - ahead_.Times(sample) - 1);
}

std::string MetBinder::ServedNow() const {
  if (!resumed_.empty()) return PackCounts(resumed_);  // no epoch has them yet
  std::vector<uint32_t> counts = Taken();
  ForEachUnopened(
      [&](uint32_t sample) { counts[sample] -= counts[sample] > 0; });
  return PackCounts(counts);
}

void MetBinder::BeginEpoch(Seed seed, Epoch epoch,
                           absl::Span<const NameBinding> bound) {
  ForEachUnopened([this](uint32_t sample) { progress_.TakeBack(sample); });
  if (begun_ > 0) SkipUnopened();
  // What a short pass left out would come in this epoch beside a pass of its
  // own, and other samples would not.
  const bool anew = one_a_pass_ && WasCutShort();
  if (begun_++ == 0 || seed != seed_ || !resumed_.empty() || anew) {
    if (resumed_.empty()) resumed_ = Taken();
    ahead_.Clear();
    progress_.Restart(seed, epoch, std::exchange(resumed_, {}));
    seed_ = seed;
  }
  const std::vector<uint32_t> taken = Taken();
  served_then_ = PackCounts(taken);
  taken_.Reset(taken);
  std::fill(sample_of_.begin(), sample_of_.end(), kNone);
  std::fill(last_name_.begin(), last_name_.end(), kNone);
  opened_.ClearAll();
  for (const NameBinding& pair : bound) {
    const auto sample = static_cast<uint32_t>(pair.sample);
    Note(static_cast<uint32_t>(pair.name), sample, /*opened=*/true);
    ahead_.Forget(sample);
    progress_.Serve(sample);
    CountTaken(sample);
  }
}

void MetBinder::SkipUnopened() {
  const Grouping& grouping = *input_.grouping;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    uint64_t unopened = 0;
    for (uint32_t i = 0; i < group.samples; ++i) {
      unopened += opened_.Get(group.first_sample + i) ? 0 : 1;
    }
    progress_.Skip(g, unopened);
  }
}

bool MetBinder::WasCutShort() const {
  const Grouping& grouping = *input_.grouping;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    uint64_t asked = 0;
    uint64_t opened = 0;
    for (uint64_t name = group.first_sample;
         name < group.first_sample + group.samples; ++name) {
      asked += sample_of_[name] != kNone ? 1 : 0;
      opened += opened_.Get(name) ? 1 : 0;
    }
    if (asked > 0 && opened < group.samples) return true;
  }
  return false;
}

std::vector<uint64_t> MetBinder::WantedSets() const {
  if (begun_ == 0) return {};
  return progress_.WantedSets();
}

SampleId MetBinder::Bind(SampleId name) {
  const uint32_t known = sample_of_[IdOf(name)];
  if (known != kNone) return SampleId(known);
  const uint32_t group = input_.grouping->group_of(name).value();
  const MetLookAhead::Drawn drawn = ahead_.Take(group);
  ++(drawn.ready ? counts_.hits : counts_.misses);
  Note(IdOf(name), drawn.sample, /*opened=*/false);
  CountTaken(drawn.sample);
  return SampleId(drawn.sample);
}

void MetBinder::Note(uint32_t name, uint32_t sample, bool opened) {
  const uint32_t before = last_name_[sample];
  before_[name] = before;
  ordinal_[name] = before == kNone ? 0 : ordinal_[before] + 1;
  last_name_[sample] = name;
  sample_of_[name] = sample;
  if (opened) opened_.Set(name);
}

absl::optional<SampleId> MetBinder::NameAt(SampleId sample,
                                           uint32_t ordinal) const {
  // At most as many steps as this epoch repeated the sample: few.
  uint32_t name = last_name_[IdOf(sample)];
  while (name != kNone && ordinal_[name] > ordinal) name = before_[name];
  if (name == kNone || ordinal_[name] != ordinal) return absl::nullopt;
  return SampleId(name);
}

absl::optional<SampleId> MetBinder::Bound(SampleId name) const {
  const uint32_t sample = sample_of_[IdOf(name)];
  if (sample == kNone) return absl::nullopt;
  return SampleId(sample);
}

absl::optional<SampleId> MetBinder::NameOf(SampleId sample) const {
  const uint32_t name = last_name_[IdOf(sample)];
  if (name == kNone) return absl::nullopt;
  return SampleId(name);
}

std::vector<SampleId> MetBinder::FetchChunkOf(SampleId sample, uint64_t room) {
  const uint64_t bytes = input_.bytes[IdOf(sample)];
  if (bytes > room || bytes > largest_) return {};
  ahead_.Fetched(IdOf(sample));
  return {sample};
}

}  // namespace shufflefs
