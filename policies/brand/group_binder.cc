// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/group_binder.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// A chunk, or the piece of it that is read at a time, takes at most this part
// of the memory.
constexpr uint64_t kPiecesOfMemory = 4;
// If each chunk has one group, this part of the memory is kept for groups that
// have nothing there when a reader asks. Without room for the chunk the reader
// would read a single sample, which costs a disk as many seeks as a chunk.
constexpr uint64_t kKeptPart = 20;

RandomKey OrderKey(const BinderInput& input, Seed seed, Epoch epoch) {
  return DeriveKey(seed, epoch, input.dataset_key, Purpose::kBlockOrder);
}

// Of the samples that memory holds at all.
uint64_t MemorySamples(const BinderInput& input) {
  uint64_t bytes = 0;
  uint64_t samples = 0;
  for (const uint64_t each : input.bytes) {
    if (each > input.memory_bytes) continue;
    bytes += each;
    ++samples;
  }
  const uint64_t mean = bytes / std::max<uint64_t>(samples, 1);
  return input.memory_bytes / std::max<uint64_t>(mean, 1);
}

// The chunks, cut so that each has at most `largest` bytes, or one larger
// sample.
std::vector<std::vector<uint32_t>> CutChunks(const BinderInput& input,
                                             uint64_t largest) {
  std::vector<std::vector<uint32_t>> cut;
  for (const std::vector<uint32_t>& chunk : input.chunks) {
    uint64_t bytes = largest + 1;  // treat the chunk before as full
    for (const uint32_t sample : chunk) {
      bytes += input.bytes[sample];
      if (bytes > largest) {
        cut.emplace_back();
        bytes = input.bytes[sample];
      }
      cut.back().push_back(sample);
    }
  }
  return cut;
}

// Returns whether memory holds all samples of the chunks that are fetched.
bool AllFit(const BinderInput& input,
            const std::vector<std::vector<uint32_t>>& chunks,
            uint64_t largest) {
  uint64_t all = 0;
  for (const std::vector<uint32_t>& chunk : chunks) {
    for (const uint32_t sample : chunk) {
      if (input.bytes[sample] <= largest) all += input.bytes[sample];
    }
  }
  return all <= input.memory_bytes;
}

std::vector<uint32_t> ChunkBySample(
    const std::vector<std::vector<uint32_t>>& chunks, uint64_t samples) {
  std::vector<uint32_t> chunk_of(samples);
  for (uint32_t c = 0; c < chunks.size(); ++c) {
    for (const uint32_t sample : chunks[c]) chunk_of[sample] = c;
  }
  return chunk_of;
}

}  // namespace

GroupBinder::GroupBinder(const BinderInput& input)
    : input_(input),
      largest_(std::max<uint64_t>(input_.memory_bytes / kPiecesOfMemory, 1)),
      chunks_(CutChunks(input, largest_)),
      chunk_of_(ChunkBySample(chunks_, input_.grouping->sample_count())),
      all_fits_(AllFit(input_, chunks_, largest_)),
      table_(*input_.grouping),
      plan_(MakeChunkPlan(chunks_, table_, MemorySamples(input_))),
      kept_(plan_->one_group_each() && !all_fits_
                ? input_.memory_bytes / kKeptPart
                : 0),
      line_(chunks_, chunk_of_, MemorySamples(input_) / kPiecesOfMemory,
            table_),
      rng_(RandomKey(0)),
      next_(std::max<size_t>(chunks_.size(), 1)) {
  BeginEpoch(Seed(0), Epoch(0), {});
}

void GroupBinder::BeginEpoch(Seed seed, Epoch epoch,
                             absl::Span<const NameBinding> bound) {
  const RandomKey key = OrderKey(input_, seed, epoch);
  beginning_ = std::exchange(next_beginning_, {});
  if (key != next_key_) {  // not the epoch that was prepared
    beginning_.clear();
    next_.assign(next_.size(), false);
  }
  begun_ = next_begun_ = 0;
  table_.BeginEpoch(bound);
  plan_->BeginEpoch(key);
  line_.BeginEpoch();
  rng_ = Rng(DeriveKey(seed, epoch, input_.dataset_key, Purpose::kBinding));
  // Opens what an interrupted epoch left unread.
  table_.ForEachHeld([this](uint32_t sample) {
    if (!next_[chunk_of_[sample]]) table_.Open(sample);
  });
  line_.Begin(beginning_);
  for (const uint32_t chunk : beginning_) next_[chunk] = false;
  line_.Advance();
  next_key_ = OrderKey(input_, seed, Epoch(epoch.value() + 1));
  fetched_all_ = false;
  // Else what is shown before all is fetched would be read again.
  if (all_fits_) ChooseBeginning();
  Settle();
}

SampleId GroupBinder::Bind(SampleId name) {
  const uint32_t known = table_.sample_of(SampleTable::IdOf(name));
  if (known != SampleTable::kNone) return SampleId(known);
  const uint32_t group = table_.group_of(SampleTable::IdOf(name));
  uint32_t sample = table_.open_count(group) > 0 ? table_.Draw(group, &rng_)
                                                 : line_.Draw(group, &rng_);
  if (sample == SampleTable::kNone) sample = plan_->Earliest(group);
  // Only if more names are bound than there are samples.
  if (sample == SampleTable::kNone) return name;
  ++(table_.held(sample) ? counts_.hits : counts_.misses);
  table_.Bind(SampleTable::IdOf(name), sample);
  plan_->Changed(group);
  return SampleId(sample);
}

bool GroupBinder::IsReady(SampleId name) const {
  return Bound(name) ||
         table_.open_count(table_.group_of(SampleTable::IdOf(name))) > 0;
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
  return input_.bytes[sample] <= largest_ &&
         (epoch == For::kThisEpoch ? table_.fetchable(sample)
                                   : table_.fetchable_ahead(sample));
}

GroupBinder::Load GroupBinder::WantedOf(uint32_t chunk, For epoch) const {
  Load load;
  for (const uint32_t sample : chunks_[chunk]) {
    if (!Wanted(sample, epoch)) continue;
    load.samples.push_back(SampleId(sample));
    load.bytes += input_.bytes[sample];
  }
  return load;
}

std::vector<SampleId> GroupBinder::Begin(Load load, For epoch) {
  const uint32_t chunk = chunk_of_[SampleTable::IdOf(load.samples.front())];
  if (epoch == For::kThisEpoch) line_.Begin({chunk});
  for (const SampleId sample : load.samples) {
    table_.SetComing(SampleTable::IdOf(sample));
    Changed(SampleTable::IdOf(sample));
  }
  ++counts_.chunk_loads;
  counts_.loaded += load.samples.size();
  counts_.chunk_samples += chunks_[chunk].size();
  return std::move(load.samples);
}

void GroupBinder::Settle() {
  while (!fetched_all_) {
    const uint32_t chunk = plan_->Next();
    if (chunk == ChunkPlan::kNone) {
      fetched_all_ = true;
      if (!all_fits_) ChooseBeginning();
    } else if (!WantedOf(chunk, For::kThisEpoch).empty()) {
      return;
    } else {
      plan_->Pass(chunk);
    }
  }
}

void GroupBinder::ChooseBeginning() {
  uint64_t room = input_.memory_bytes;
  for (const uint32_t chunk : plan_->BeginningOf(next_key_)) {
    uint64_t bytes = 0;
    for (const uint32_t sample : chunks_[chunk]) bytes += input_.bytes[sample];
    if (bytes > largest_) continue;
    if (bytes > room) return;
    room -= bytes;
    next_[chunk] = true;
    next_beginning_.push_back(chunk);
  }
}

std::vector<SampleId> GroupBinder::NextFetch(uint64_t room) {
  Settle();
  if (fetched_all_) {
    return NextOf(next_beginning_, next_begun_, For::kNextEpoch, room);
  }
  // The beginning of this epoch comes first, because it is opened in its order.
  std::vector<SampleId> samples =
      NextOf(beginning_, begun_, For::kThisEpoch, room);
  if (samples.empty() && begun_ == beginning_.size()) {
    Load load = WantedOf(plan_->Next(), For::kThisEpoch);
    if (load.bytes > room) return {};
    samples = Begin(std::move(load), For::kThisEpoch);
  }
  Settle();
  return samples;
}

std::vector<SampleId> GroupBinder::NextOf(const std::vector<uint32_t>& chunks,
                                          size_t& at, For epoch,
                                          uint64_t room) {
  for (; at < chunks.size(); ++at) {
    Load load = WantedOf(chunks[at], epoch);
    if (load.bytes > room) return {};
    if (load.empty()) continue;
    ++at;
    return Begin(std::move(load), epoch);
  }
  return {};
}

std::vector<SampleId> GroupBinder::FetchChunkOf(SampleId sample,
                                                uint64_t room) {
  if (!Wanted(SampleTable::IdOf(sample), For::kThisEpoch)) return {};
  Load load = WantedOf(chunk_of_[SampleTable::IdOf(sample)], For::kThisEpoch);
  if (load.bytes > room) return {};
  std::vector<SampleId> samples = Begin(std::move(load), For::kThisEpoch);
  Settle();
  return samples;
}

void GroupBinder::Bypassed(SampleId sample) {
  table_.SetDone(SampleTable::IdOf(sample));
  line_.Advance();
  Settle();
}

void GroupBinder::Arrived(SampleId sample) {
  table_.SetHere(SampleTable::IdOf(sample));
  line_.Advance();
}

void GroupBinder::Left(SampleId sample) {
  table_.SetOut(SampleTable::IdOf(sample));
  line_.Advance();
  Changed(SampleTable::IdOf(sample));
}

bool GroupBinder::Keeps(SampleId sample) {
  const uint32_t id = SampleTable::IdOf(sample);
  if (!next_[chunk_of_[id]] || !table_.held(id) || !table_.bound(id)) {
    return false;
  }
  table_.SetDone(id);
  line_.Advance();
  return true;
}

void GroupBinder::Changed(uint32_t sample) {
  plan_->Changed(table_.group_of(sample));
}

}  // namespace shufflefs
