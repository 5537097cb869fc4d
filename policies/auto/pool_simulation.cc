// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/pool_simulation.h"

#include <algorithm>

#include "core/random/permutation.h"
#include "core/random/random.h"

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
    WhereIs(sample) = Where::kComing;
    held_bytes_ += input_.bytes[sample.value()];
    coming_bytes_ += input_.bytes[sample.value()];
    read_bytes_ += input_.bytes[sample.value()];
    coming_.push_back(sample);
  }
  while (speed_ == 0 && !coming_.empty()) Arrive();
  return !samples.empty();
}

void PoolSimulation::Fill() {
  // The maximum on its way at a time; see SampleProducer::Plan.
  const uint64_t most = input_.memory_bytes / 4;
  const uint64_t kept = binder_.kept();
  while (coming_bytes_ < most &&
         Fetch(binder_.NextFetch(Room() - std::min(Room(), kept)))) {
  }
}

void PoolSimulation::Arrive() {
  const SampleId sample = coming_.front();
  coming_.pop_front();
  coming_bytes_ -= input_.bytes[sample.value()];
  WhereIs(sample) = Where::kHere;
  binder_.Arrived(sample);
}

void PoolSimulation::Work() {
  for (done_ += speed_; done_ >= 1 && !coming_.empty(); done_ -= 1) {
    Arrive();
    Fill();
  }
  if (coming_.empty()) done_ = 0;
}

void PoolSimulation::Leave(SampleId sample) {
  if (binder_.Keeps(sample)) return;
  WhereIs(sample) = Where::kOut;
  held_bytes_ -= input_.bytes[sample.value()];
  binder_.Left(sample);
}

double PoolSimulation::WaitFor(SampleId sample) {
  double waited = 0;
  while (WhereIs(sample) == Where::kComing) {
    waited += (1 - done_) / speed_;
    done_ = 0;
    Arrive();
    Fill();
  }
  return waited;
}

bool PoolSimulation::ReadIsBypass(SampleId sample, SimulatedEpoch& epoch) {
  if (WhereIs(sample) == Where::kOut) {
    Fetch(binder_.FetchChunkOf(sample, Room()));
  }
  if (WhereIs(sample) == Where::kOut) {
    binder_.Bypassed(sample);
    read_bytes_ += input_.bytes[sample.value()];
    return true;
  }
  epoch.waited += WaitFor(sample);
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
  for (uint64_t i = 0; i < order.size(); ++i) Show(SampleId(order(i)), result);
  result.counts = Since(before, binder_.counts());
  return result;
}

SampleId PoolSimulation::Open(SampleId name, SimulatedEpoch& result) {
  Fill();
  result.peak_bytes = std::max(result.peak_bytes, held_bytes_);
  const SampleId sample = binder_.Bind(name);
  result.names.push_back(name.value());
  return sample;
}

void PoolSimulation::Read(SampleId sample, SimulatedEpoch& result) {
  result.bypass += ReadIsBypass(sample, result) ? 1 : 0;
  result.peak_bytes = std::max(result.peak_bytes, held_bytes_);
  result.samples.push_back(sample.value());
  Work();
}

}  // namespace shufflefs
