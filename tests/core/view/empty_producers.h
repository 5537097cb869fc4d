// SPDX-License-Identifier: Apache-2.0
// Producers whose samples never come. Names are bound all the same.
#ifndef SHUFFLEFS_TESTS_CORE_VIEW_EMPTY_PRODUCERS_H_
#define SHUFFLEFS_TESTS_CORE_VIEW_EMPTY_PRODUCERS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "core/pool/chunk_map.h"
#include "core/pool/sample_producer.h"
#include "policies/brand/group_binder.h"
#include "policies/met/met_binder.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs::testing_support {

inline constexpr uint64_t kMemory = uint64_t{8} << 20;

inline std::unique_ptr<Binder> BinderOf(const ViewConfig& config,
                                        const BinderInput& input) {
  if (config.policy == "brand") return std::make_unique<GroupBinder>(input);
  return std::make_unique<MetBinder>(MetOptions::Of(config.policy_options),
                                     input);
}

inline absl::StatusOr<std::shared_ptr<SampleProducer>> MakeEmptyProducer(
    const ViewConfig& config, std::shared_ptr<const Dataset> dataset) {
  auto input = std::make_unique<BinderInput>();
  input->grouping = &dataset->grouping();
  input->bytes.assign(dataset->grouping().sample_count(), 4096);
  input->chunks =
      ComposeMixedChunks(dataset->grouping(), dataset->key(), /*files=*/8);
  input->dataset_key = dataset->key();
  input->memory_bytes = kMemory;
  SampleProducer::Parts parts;
  parts.dataset = std::move(dataset);
  parts.memory = TestMemory(kMemory);
  parts.binder = BinderOf(config, *input);
  parts.input = std::move(input);
  parts.source = std::make_unique<HeldSource>();
  return SampleProducer::Make(std::move(parts));
}

// Lets the fixture make views of brand and met.
inline void BindOnDemand(ViewFixture& fixture) {
  fixture.samples = [](const ViewConfig& config,
                       std::shared_ptr<const Dataset> dataset, const Policy&,
                       const ViewRecords&) {
    return MakeEmptyProducer(config, std::move(dataset));
  };
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_VIEW_EMPTY_PRODUCERS_H_
