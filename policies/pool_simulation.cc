// SPDX-License-Identifier: Apache-2.0
#include "policies/pool_simulation.h"

#include <algorithm>

#include "core/permutation.h"
#include "core/random.h"

namespace shufflefs {
namespace {

BinderCounts Since(const BinderCounts& before, const BinderCounts& now) {
  return {.hits = now.hits - before.hits,
          .misses = now.misses - before.misses,
          .chunk_loads = now.chunk_loads - before.chunk_loads,
          .loaded = now.loaded - before.loaded,
          .chunk_samples = now.chunk_samples - before.chunk_samples};
}

}  // namespace

bool PoolSimulation::Fetch(const std::vector<SampleId>& samples) {
  for (const SampleId sample : samples) {
    held_[sample.value()] = true;
    held_bytes_ += input_.bytes[sample.value()];
    binder_.Arrived(sample);
  }
  return !samples.empty();
}

void PoolSimulation::Leave(SampleId sample) {
  held_[sample.value()] = false;
  held_bytes_ -= input_.bytes[sample.value()];
  binder_.Left(sample);
}

bool PoolSimulation::Read(SampleId sample) {
  if (!held_[sample.value()]) Fetch(binder_.FetchChunkOf(sample, Room()));
  if (!held_[sample.value()]) {
    binder_.FetchedAlone(sample);
    return true;
  }
  Leave(sample);
  return false;
}

SimulatedEpoch PoolSimulation::Run(Seed seed, Epoch epoch) {
  const BinderCounts before = binder_.counts();
  binder_.BeginEpoch(seed, epoch, {});
  const Permutation order(
      input_.bytes.size(),
      DeriveKey(seed, epoch, input_.dataset_key, Purpose::kMeasure));
  SimulatedEpoch result;
  for (uint64_t i = 0; i < order.size(); ++i) {
    while (Fetch(binder_.NextFetch(Room()))) {
    }
    result.peak_bytes = std::max(result.peak_bytes, held_bytes_);
    const SampleId name(order(i));
    const SampleId sample = binder_.Bind(name);
    result.bypass += Read(sample) ? 1 : 0;
    result.peak_bytes = std::max(result.peak_bytes, held_bytes_);
    result.names.push_back(name.value());
    result.samples.push_back(sample.value());
  }
  result.counts = Since(before, binder_.counts());
  return result;
}

}  // namespace shufflefs
