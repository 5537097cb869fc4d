// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/simulated_pool.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/pool/chunk_map.h"
#include "core/pool/memory/arena.h"
#include "core/pool/sample_producer.h"
#include "core/quality/shuffle_quality.h"

namespace shufflefs {
namespace {

std::string Row(absl::string_view title, uint64_t value,
                const std::string& note = "") {
  return absl::StrFormat("  %-44s%14s%14s\n", title, HumanCount(value), note);
}

std::string Percent(uint64_t part, uint64_t whole) {
  return absl::StrFormat("%.3f %%", whole == 0
                                        ? 0.0
                                        : 100.0 * static_cast<double>(part) /
                                              static_cast<double>(whole));
}

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

PoolInput MakePoolInput(const PoolData& data, const PoolOptions& simulated) {
  PoolInput made;
  BinderInput& input = made.binder;
  input.grouping = data.grouping;
  input.dataset_key = data.key;
  input.memory_bytes = GuaranteeOf(simulated.memory_bytes, 1);
  for (const uint64_t bytes : data.bytes) {
    input.bytes.push_back(Arena::Footprint(bytes));
  }
  const auto files = static_cast<uint32_t>(simulated.chunk_files);
  if (data.addresses.empty()) {
    input.chunks = ComposeMixedChunks(*data.grouping, data.key, files);
    made.how = absl::StrCat(input.chunks.size(), " chunks of ", files,
                            " files at random");
    return made;
  }
  PhysicalChunkOptions options;
  options.memory_bytes = input.memory_bytes;
  options.files_per_chunk = files;
  PhysicalChunks chunks = ComposePhysicalChunks(*data.grouping, data.addresses,
                                                input.bytes, options);
  input.chunks = std::move(chunks.chunks);
  made.how = std::move(chunks.how);
  return made;
}

SimulatedPool::SimulatedPool(PoolData data, const PoolOptions& simulated)
    : data_(std::move(data)),
      simulated_(simulated),
      input_(MakePoolInput(data_, simulated_)) {}

absl::StatusOr<std::unique_ptr<const SimulatedPool>> SimulatedPool::Make(
    PoolData data, const PoolOptions& simulated, const Policy& policy,
    Epoch epoch) {
  if (GuaranteeOf(simulated.memory_bytes, 1) < SampleProducer::kLeastMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: policy = ", policy.name(), " needs at least ",
                     MemoryFor(SampleProducer::kLeastMemory, 1) >> 20, "MiB"));
  }
  std::unique_ptr<SimulatedPool> pool(
      new SimulatedPool(std::move(data), simulated));
  std::unique_ptr<Binder> binder;
  if (simulated.make_binder) {
    ASSIGN_OR_RETURN(binder, simulated.make_binder(pool->input_.binder));
  } else {
    binder = policy.MakeBinder(pool->input_.binder);
  }
  pool->Run(*binder, epoch);
  return std::unique_ptr<const SimulatedPool>(std::move(pool));
}

void SimulatedPool::Run(Binder& binder, Epoch epoch) {
  epoch_ = epoch;
  PoolSimulation simulation(input_.binder, binder);
  if (epoch.value() > 0) {
    simulation.Run(simulated_.seed, Epoch(epoch.value() - 1));
  }
  const Grouping& grouping = *data_.grouping;
  EpochMemoryMeter meter(grouping.sample_count(), grouping.group_count(),
                         [&grouping](uint64_t sample) {
                           return grouping.group_of(SampleId(sample)).value();
                         });
  for (uint64_t i = 0; i < simulated_.epochs; ++i) {
    SimulatedEpoch run =
        simulation.Run(simulated_.seed, Epoch(epoch.value() + i));
    meter.Add(run.samples);
    if (i < 2) (i == 0 ? now_ : next_) = std::move(run);
  }
  memory_ = meter.Report();
}

std::shared_ptr<const Order> SimulatedPool::OrderOf(Epoch epoch) const {
  return std::make_shared<SequenceOrder>(
      epoch == epoch_ ? now_.samples : next_.samples, data_.bytes.size());
}

std::string SimulatedPool::Text() const {
  const BinderCounts& counts = now_.counts;
  const uint64_t samples = now_.samples.size();
  return absl::StrCat(
      HumanBytes(simulated_.memory_bytes), " of memory, ", input_.how, "\n",
      Row("chunk loads", counts.chunk_loads,
          absl::StrFormat("%.2f a chunk", Ratio(counts.chunk_loads,
                                                input_.binder.chunks.size()))),
      Row("samples that they brought", counts.loaded,
          absl::StrCat(Percent(counts.loaded, counts.chunk_samples))),
      Row("names whose sample was there", counts.hits,
          Percent(counts.hits, samples)),
      Row("names whose sample was not", counts.misses,
          Percent(counts.misses, samples)),
      Row("samples read alone", now_.bypass, Percent(now_.bypass, samples)));
}

nlohmann::ordered_json SimulatedPool::Json() const {
  const BinderCounts& counts = now_.counts;
  return {{"memory", simulated_.memory_bytes},
          {"how", input_.how},
          {"chunks", input_.binder.chunks.size()},
          {"chunk_loads", counts.chunk_loads},
          {"loaded", counts.loaded},
          {"chunk_samples", counts.chunk_samples},
          {"fill_rate", Ratio(counts.loaded, counts.chunk_samples)},
          {"hits", counts.hits},
          {"misses", counts.misses},
          {"bypass", now_.bypass}};
}

}  // namespace shufflefs
