// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/location_binder.h"

#include <algorithm>

namespace shufflefs {
namespace {

// By chunk: how many of its samples could fill a location, if nothing were in
// memory or bound.
std::vector<uint32_t> FillsOf(const LocationMap& map, size_t chunks) {
  std::vector<uint32_t> fills(chunks);
  for (uint32_t l = 0; l < map.location_count(); ++l) {
    if (!map.has_memory(l)) continue;
    for (const uint32_t sample : map.column(l)) ++fills[map.chunk_of(sample)];
  }
  return fills;
}

}  // namespace

LocationBinder::LocationBinder(const BinderInput& input, Refill refill)
    : input_(input),
      refill_(refill),
      table_(*input.grouping),
      map_(input, table_),
      rng_(RandomKey(0)),
      next_of_group_(table_.group_count()),
      valid_(map_.location_count()),
      all_fills_(FillsOf(map_, input.chunks.size())) {
  BeginEpoch(Seed(0), Epoch(0), {});
}

void LocationBinder::BeginEpoch(Seed seed, Epoch epoch,
                                absl::Span<const NameBinding> bound) {
  table_.ForEachHeld(
      [this](uint32_t sample) { valid_[map_.location_of(sample)] = 0; });
  table_.BeginEpoch(bound);
  rng_ = Rng(DeriveKey(seed, epoch, input_.dataset_key, Purpose::kBinding));
  for (uint32_t g = 0; g < table_.group_count(); ++g) {
    next_of_group_[g] = table_.first(g);
  }
  fills_ = all_fills_;
  std::vector<uint32_t> locations;  // that are not as in all_fills_
  table_.ForEachHeld([&](uint32_t sample) {
    if (!table_.bound(sample)) ++valid_[map_.location_of(sample)];
    locations.push_back(map_.location_of(sample));
  });
  for (const NameBinding& pair : bound) {
    const auto sample = static_cast<uint32_t>(pair.sample);
    if (map_.has(sample)) locations.push_back(map_.location_of(sample));
  }
  std::sort(locations.begin(), locations.end());
  locations.erase(std::unique(locations.begin(), locations.end()),
                  locations.end());
  for (const uint32_t location : locations) {
    if (!map_.has_memory(location)) continue;
    for (const uint32_t sample : map_.column(location)) {
      --fills_[map_.chunk_of(sample)];
    }
    if (Empty(location)) CountFills(location, 1);
  }
}

void LocationBinder::CountFills(uint32_t location, int by) {
  if (!map_.has_memory(location)) return;
  for (const uint32_t sample : map_.column(location)) {
    if (Available(sample)) {
      fills_[map_.chunk_of(sample)] += static_cast<uint32_t>(by);
    }
  }
}

void LocationBinder::AddValid(uint32_t location) {
  if (valid_[location]++ == 0) CountFills(location, -1);
}

void LocationBinder::RemoveValid(uint32_t location) {
  if (--valid_[location] == 0) CountFills(location, 1);
}

uint32_t LocationBinder::ValidSample(uint32_t location) const {
  uint32_t coming = SampleTable::kNone;
  for (const uint32_t sample : map_.column(location)) {
    if (!table_.held(sample) || table_.bound(sample)) continue;
    if (table_.in_memory(sample)) return sample;
    coming = sample;
  }
  return coming;
}

SampleId LocationBinder::Bind(SampleId name) {
  const uint32_t id = SampleTable::IdOf(name);
  const uint32_t known = table_.sample_of(id);
  if (known != SampleTable::kNone) return SampleId(known);
  uint32_t sample = map_.has(id) ? OfLocation(id) : SampleTable::kNone;
  if (sample == SampleTable::kNone) sample = AnyOfGroup(table_.group_of(id));
  // Only if more names are bound than there are samples.
  if (sample == SampleTable::kNone) return name;
  Take(id, sample);
  return SampleId(sample);
}

bool LocationBinder::IsReady(SampleId name) const {
  const uint32_t id = SampleTable::IdOf(name);
  if (table_.sample_of(id) != SampleTable::kNone) return true;
  if (!map_.has(id) || Empty(map_.location_of(id))) return false;
  return table_.in_memory(ValidSample(map_.location_of(id)));
}

uint32_t LocationBinder::OfLocation(uint32_t name) {
  const uint32_t location = map_.location_of(name);
  return Empty(location) ? ChooseRefill(name) : ValidSample(location);
}

uint32_t LocationBinder::AnyOfGroup(uint32_t group) {
  const uint32_t end = table_.first(group) + table_.count(group);
  uint32_t& next = next_of_group_[group];
  while (next < end && (!map_.has(next) || table_.bound(next))) ++next;
  return next < end ? next : SampleTable::kNone;
}

void LocationBinder::Take(uint32_t name, uint32_t sample) {
  const uint32_t location = map_.location_of(sample);
  const bool hit = table_.held(sample);
  ++(hit ? counts_.hits : counts_.misses);
  if (!hit && Empty(location) && map_.has_memory(location)) {
    --fills_[map_.chunk_of(sample)];
  }
  table_.Bind(name, sample);
  if (hit) RemoveValid(location);
}

uint32_t LocationBinder::ChooseRefill(uint32_t name) {
  if (refill_ == Refill::kNone && Available(name)) return name;
  uint32_t best = SampleTable::kNone;
  uint64_t equals = 0;
  for (const uint32_t sample : map_.column(map_.location_of(name))) {
    if (!Available(sample)) continue;
    if (best == SampleTable::kNone) {
      best = sample;
      equals = 1;
      continue;
    }
    if (refill_ == Refill::kNone) continue;
    const uint32_t fills = fills_[map_.chunk_of(sample)];
    const uint32_t most = fills_[map_.chunk_of(best)];
    const bool equal = refill_ == Refill::kRandom || fills == most;
    if (!equal && fills < most) continue;
    if (!equal) equals = 0;
    if (rng_.Bounded(++equals) == 0) best = sample;
  }
  return best;
}

absl::optional<SampleId> LocationBinder::Bound(SampleId name) const {
  return SampleTable::SampleOf(table_.sample_of(SampleTable::IdOf(name)));
}

absl::optional<SampleId> LocationBinder::NameOf(SampleId sample) const {
  return SampleTable::SampleOf(table_.name_of(SampleTable::IdOf(sample)));
}

std::vector<SampleId> LocationBinder::NextFetch(uint64_t /*room*/) {
  return {};
}

std::vector<SampleId> LocationBinder::FetchChunkOf(SampleId wanted,
                                                   uint64_t room) {
  const uint32_t chunk = map_.chunk_of(SampleTable::IdOf(wanted));
  if (!map_.has(SampleTable::IdOf(wanted)) ||
      !table_.fetchable(SampleTable::IdOf(wanted)) ||
      input_.bytes[SampleTable::IdOf(wanted)] > room ||
      !map_.has_memory(map_.location_of(SampleTable::IdOf(wanted)))) {
    return {};
  }
  room -= input_.bytes[SampleTable::IdOf(wanted)];
  std::vector<SampleId> load;
  for (const uint32_t sample : input_.chunks[chunk]) {
    const uint32_t location = map_.location_of(sample);
    if (sample != SampleTable::IdOf(wanted)) {
      if (!table_.fetchable(sample) || table_.bound(sample) ||
          !Empty(location) || !map_.has_memory(location) ||
          input_.bytes[sample] > room) {
        continue;
      }
      room -= input_.bytes[sample];
      AddValid(location);  // requires that the sample was available until now
    }
    table_.SetComing(sample);
    load.push_back(SampleId(sample));
  }
  ++counts_.chunk_loads;
  counts_.loaded += load.size();
  counts_.chunk_samples += input_.chunks[chunk].size();
  return load;
}

void LocationBinder::Bypassed(SampleId sample) {
  table_.SetDone(SampleTable::IdOf(sample));
}

void LocationBinder::Arrived(SampleId sample) {
  table_.SetHere(SampleTable::IdOf(sample));
}

void LocationBinder::Left(SampleId sample) {
  if (!table_.held(SampleTable::IdOf(sample))) return;
  const bool valid = !table_.bound(SampleTable::IdOf(sample));
  table_.SetOut(SampleTable::IdOf(sample));
  if (!valid) return;
  // The sample is available again. fills_ does not count it if its location
  // still holds another one.
  RemoveValid(map_.location_of(SampleTable::IdOf(sample)));
}

bool LocationBinder::fetched_ahead(SampleId sample) const {
  return table_.held(SampleTable::IdOf(sample)) &&
         table_.done(SampleTable::IdOf(sample));
}

}  // namespace shufflefs
