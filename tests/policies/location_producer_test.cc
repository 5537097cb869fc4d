// SPDX-License-Identifier: Apache-2.0
// The location binding in a real pool, against what the simulation says of it:
// chunk loads, misses and fill rate, with each way to choose what to load.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/pool/chunk_map.h"
#include "core/pool/sample_producer.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "policies/auto/pool_simulation.h"
#include "policies/brand/location_binder.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/pool/test_memory.h"

namespace shufflefs {
namespace {

using Refill = LocationBinder::Refill;
using testing_support::TempTree;

constexpr uint64_t kMemory = 4 << 20;
constexpr int kEpochs = 4;

// All that is asked for is there at once.
class InstantSource : public SampleSource {
 public:
  void Fetch(std::vector<FilePiece> files) override {
    for (FilePiece& file : files) FetchNow(std::move(file));
  }
  void FetchNow(FilePiece piece) override {
    ++reads_;
    bytes_ += piece.length;
    piece.done(absl::OkStatus());
  }
  uint64_t bytes_read() const override { return bytes_; }
  uint64_t reads() const override { return reads_; }
  std::string how() const override { return "at once"; }

 private:
  uint64_t reads_ = 0;
  uint64_t bytes_ = 0;
};

// Files of one page in class folders, about four times the memory.
std::shared_ptr<const Dataset> MakeDataset(TempTree& tree, int classes) {
  for (int f = 0; f < 3000; ++f) {
    tree.File("c" + std::to_string(f % classes) + "/" +
                  std::to_string(f * 7919 % 100003) + ".jpg",
              std::string(1000 + f % 3000, 'x'));
  }
  ViewConfig config;
  config.substitute = Substitute::kDirectory;
  auto dataset = Dataset::Make(
      std::make_shared<const Catalogue>(tree.Scanned()), config, "");
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

std::unique_ptr<BinderInput> MakeInput(const Dataset& dataset) {
  auto input = std::make_unique<BinderInput>();
  input->grouping = &dataset.grouping();
  input->bytes.assign(dataset.grouping().sample_count(), Arena::kPage);
  input->chunks = ComposeMixedChunks(dataset.grouping(), dataset.key(), 64);
  input->dataset_key = dataset.key();
  input->memory_bytes = PoolBytes(kMemory);
  return input;
}

struct Figures {
  double loads = 0;
  double misses = 0;
  double fill_rate = 0;
  double alone = 0;
};

Figures Simulated(const BinderInput& input, Refill refill) {
  LocationBinder binder(input, refill);
  PoolSimulation simulation(input, binder);
  Figures figures;
  uint64_t loaded = 0;
  uint64_t whole = 0;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const SimulatedEpoch one = simulation.Run(Seed(1), Epoch(epoch));
    figures.loads += static_cast<double>(one.counts.chunk_loads);
    figures.misses += static_cast<double>(one.counts.misses);
    figures.alone += static_cast<double>(one.bypass);
    loaded += one.counts.loaded;
    whole += one.counts.chunk_samples;
  }
  figures.fill_rate = static_cast<double>(loaded) / static_cast<double>(whole);
  return figures;
}

// One reader, in a random order that is not the simulation's.
Figures Ran(std::shared_ptr<const Dataset> dataset, Refill refill) {
  const Grouping& grouping = dataset->grouping();
  SampleProducer::Parts parts;
  parts.dataset = dataset;
  parts.memory = testing_support::TestMemory(PoolBytes(kMemory));
  auto input = MakeInput(*dataset);
  parts.binder = std::make_unique<LocationBinder>(*input, refill);
  parts.input = std::move(input);
  parts.source = std::make_unique<InstantSource>();
  auto producer = SampleProducer::Make(std::move(parts));
  EXPECT_TRUE(producer.ok()) << producer.status();
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    (*producer)->BeginEpoch(Seed(1), Epoch(epoch), {});
    const Permutation order(
        grouping.sample_count(),
        DeriveKey(Seed(77), Epoch(epoch), 3, Purpose::kMeasure));
    for (uint64_t i = 0; i < order.size(); ++i) {
      const SampleId shown = (*producer)->Bind(SampleId(order(i)));
      const EntryId file = grouping.first_member(shown);
      bool answered = false;
      (*producer)->Read(file, 0, 1 << 20,
                        [&](const auto& got) { answered = got.ok(); });
      EXPECT_TRUE(answered);
      (*producer)->Close(file);
    }
  }
  const ProducerStatus status = (*producer)->status();
  return {static_cast<double>(status.chunk_loads),
          static_cast<double>(status.misses), status.fill_rate.value_or(0),
          static_cast<double>(status.bypass)};
}

void ExpectNear(double simulated, double ran, const char* what) {
  EXPECT_NEAR(ran, simulated, 0.05 * simulated) << what;
}

class LocationProducer : public testing::TestWithParam<int> {};

TEST_P(LocationProducer, DoesWhatTheSimulationSays) {
  TempTree tree;
  const auto dataset = MakeDataset(tree, GetParam());
  const auto input = MakeInput(*dataset);
  std::vector<double> loads;
  for (const Refill refill :
       {Refill::kNone, Refill::kRandom, Refill::kFillRate}) {
    SCOPED_TRACE(static_cast<int>(refill));
    const Figures simulated = Simulated(*input, refill);
    const Figures ran = Ran(dataset, refill);
    ExpectNear(simulated.loads, ran.loads, "chunk loads");
    ExpectNear(simulated.misses, ran.misses, "misses");
    ExpectNear(simulated.fill_rate, ran.fill_rate, "fill rate");
    EXPECT_NEAR(ran.alone, simulated.alone, 0.05 * simulated.alone + 5);
    loads.push_back(ran.loads);
  }
  // The paper's breakdown: each part of the protocol saves loads.
  EXPECT_GT(loads[0], loads[2]);
  EXPECT_GT(loads[1], loads[2]);
}

INSTANTIATE_TEST_SUITE_P(Classes, LocationProducer, testing::Values(1, 10));

}  // namespace
}  // namespace shufflefs
