// SPDX-License-Identifier: Apache-2.0
#include "policies/group_binder.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shufflefs {
namespace {

// A chunk, or the piece of it that is read at a time, is at most this part of
// the memory.
constexpr uint64_t kPiecesOfMemory = 4;

RandomKey OrderKey(const BinderInput& input, Seed seed, Epoch epoch) {
  return DeriveKey(seed, epoch, input.dataset_key, Purpose::kBlockOrder);
}

uint64_t MemorySamples(const BinderInput& input) {
  const uint64_t bytes =
      std::accumulate(input.bytes.begin(), input.bytes.end(), uint64_t{0});
  const uint64_t mean = bytes / std::max<uint64_t>(input.bytes.size(), 1);
  return input.memory_bytes / std::max<uint64_t>(mean, 1);
}

}  // namespace

GroupBinder::GroupBinder(const BinderInput& input)
    : input_(input),
      piece_bytes_(
          std::max<uint64_t>(input_.memory_bytes / kPiecesOfMemory, 1)),
      chunk_of_(input_.grouping->sample_count()),
      table_(*input_.grouping),
      plan_(MakeChunkPlan(input_.chunks, table_, MemorySamples(input_))),
      rng_(RandomKey(0)),
      next_order_(input_.chunks.size(), RandomKey(0)) {
  for (uint32_t c = 0; c < input_.chunks.size(); ++c) {
    for (const uint32_t sample : input_.chunks[c]) chunk_of_[sample] = c;
  }
  BeginEpoch(Seed(0), Epoch(0), {});
}

void GroupBinder::BeginEpoch(Seed seed, Epoch epoch,
                             absl::Span<const CarriedPair> bound) {
  table_.BeginEpoch(bound);
  plan_->BeginEpoch(OrderKey(input_, seed, epoch));
  rng_ = Rng(DeriveKey(seed, epoch, input_.dataset_key, Purpose::kBinding));
  next_order_ = Permutation(input_.chunks.size(),
                            OrderKey(input_, seed, Epoch(epoch.value() + 1)));
  next_place_ = 0;
  fetched_all_ = false;
  Settle();
}

SampleId GroupBinder::Bind(SampleId name) {
  const uint32_t known = table_.sample_of(SampleTable::IdOf(name));
  if (known != SampleTable::kNone) return SampleId(known);
  const uint32_t group = table_.group_of(SampleTable::IdOf(name));
  const bool hit = table_.ready(group) > 0;
  const uint32_t sample =
      hit ? table_.Draw(group, &rng_) : plan_->Earliest(group);
  ++(hit ? counts_.hits : counts_.misses);
  table_.Bind(SampleTable::IdOf(name), sample);
  plan_->Changed(group);
  return SampleId(sample);
}

absl::optional<SampleId> GroupBinder::Bound(SampleId name) const {
  return SampleTable::SampleOf(table_.sample_of(SampleTable::IdOf(name)));
}

absl::optional<SampleId> GroupBinder::NameOf(SampleId sample) const {
  return SampleTable::SampleOf(table_.name_of(SampleTable::IdOf(sample)));
}

bool GroupBinder::fetched_ahead(SampleId sample) const {
  return table_.held(SampleTable::IdOf(sample)) &&
         table_.done(SampleTable::IdOf(sample));
}

bool GroupBinder::Wanted(uint32_t sample, For epoch) const {
  return input_.bytes[sample] <= piece_bytes_ &&
         (epoch == For::kThisEpoch ? table_.fetchable(sample)
                                   : table_.fetchable_ahead(sample));
}

GroupBinder::Load GroupBinder::WantedOf(uint32_t chunk, For epoch,
                                        uint32_t with) const {
  Load load;
  bool has = with == SampleTable::kNone;
  for (const uint32_t sample : input_.chunks[chunk]) {
    if (!Wanted(sample, epoch)) continue;
    if (load.bytes + input_.bytes[sample] > piece_bytes_) {
      if (has) break;
      load = Load();
    }
    load.samples.push_back(SampleId(sample));
    load.bytes += input_.bytes[sample];
    has = has || sample == with;
  }
  return load;
}

std::vector<SampleId> GroupBinder::Begin(Load load) {
  for (const SampleId sample : load.samples) {
    table_.SetComing(SampleTable::IdOf(sample));
    Changed(SampleTable::IdOf(sample));
  }
  ++counts_.chunk_loads;
  counts_.loaded += load.samples.size();
  counts_.chunk_samples +=
      input_.chunks[chunk_of_[SampleTable::IdOf(load.samples.front())]].size();
  return std::move(load.samples);
}

void GroupBinder::Settle() {
  while (!fetched_all_) {
    const uint32_t chunk = plan_->Next();
    if (chunk == ChunkPlan::kNone) {
      fetched_all_ = true;
    } else if (!WantedOf(chunk, For::kThisEpoch).empty()) {
      return;
    } else {
      plan_->Pass(chunk);
    }
  }
}

std::vector<SampleId> GroupBinder::NextFetch(uint64_t room) {
  Settle();
  if (fetched_all_) return NextAhead(room);
  Load load = WantedOf(plan_->Next(), For::kThisEpoch);
  if (load.bytes > room) return {};
  std::vector<SampleId> samples = Begin(std::move(load));
  Settle();
  return samples;
}

std::vector<SampleId> GroupBinder::FetchChunkOf(SampleId sample,
                                                uint64_t room) {
  if (!Wanted(SampleTable::IdOf(sample), For::kThisEpoch)) return {};
  Load load = WantedOf(chunk_of_[SampleTable::IdOf(sample)], For::kThisEpoch,
                       SampleTable::IdOf(sample));
  if (load.bytes > room) return {};
  std::vector<SampleId> samples = Begin(std::move(load));
  Settle();
  return samples;
}

std::vector<SampleId> GroupBinder::NextAhead(uint64_t room) {
  for (; next_place_ < next_order_.size(); ++next_place_) {
    Load load = WantedOf(static_cast<uint32_t>(next_order_(next_place_)),
                         For::kNextEpoch);
    if (load.bytes > room) return {};
    if (load.empty()) continue;
    ++next_place_;
    return Begin(std::move(load));
  }
  return {};
}

void GroupBinder::FetchedAlone(SampleId sample) {
  table_.SetDone(SampleTable::IdOf(sample));
  Settle();
}

void GroupBinder::Arrived(SampleId sample) {
  table_.SetHere(SampleTable::IdOf(sample));
}

void GroupBinder::Left(SampleId sample) {
  table_.SetOut(SampleTable::IdOf(sample));
  Changed(SampleTable::IdOf(sample));
}

void GroupBinder::Changed(uint32_t sample) {
  plan_->Changed(table_.group_of(sample));
}

}  // namespace shufflefs
