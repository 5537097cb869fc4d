// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/simulated_data.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/block_map.h"
#include "core/plan.h"
#include "core/status.h"
#include "core/view_setup.h"
#include "mount-tools/indexer.h"
#include "mount-tools/value_text.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

class SyntheticData : public SimulatedData {
 public:
  SyntheticData(const ViewConfig& config, const SyntheticShape& shape,
                std::unique_ptr<const Policy> policy,
                absl::optional<BlockMap> blocks)
      : seed_(config.seed),
        shape_(shape),
        policy_(std::move(policy)),
        blocks_(std::move(blocks)) {}

  uint64_t samples() const override { return shape_.samples; }

  uint32_t label(uint64_t sample) const override {
    return static_cast<uint32_t>(sample * shape_.classes / shape_.samples);
  }

  std::string title() const override {
    return absl::StrCat(HumanCount(shape_.samples), " samples of ",
                        HumanBytes(shape_.bytes), " in ",
                        HumanCount(shape_.classes), " classes");
  }

  std::shared_ptr<const Order> OrderOf(Epoch epoch) const override {
    const Stratum stratum{.key = 0,
                          .size = shape_.samples,
                          .blocks = blocks_ ? &*blocks_ : nullptr};
    return policy_->MakeOrder(stratum, seed_, epoch);
  }

 private:
  // Constant after construction.
  const Seed seed_;
  const SyntheticShape shape_;
  const std::unique_ptr<const Policy> policy_;
  const absl::optional<BlockMap> blocks_;
};

class ScannedData : public SimulatedData {
 public:
  ScannedData(std::string path, std::shared_ptr<const ViewSetup> setup)
      : path_(std::move(path)), setup_(std::move(setup)) {}

  uint64_t samples() const override { return grouping().sample_count(); }

  uint32_t label(uint64_t sample) const override {
    const EntryId file = grouping().first_member(SampleId(sample));
    return setup_->dataset->catalogue().parent(file).value();
  }

  std::string title() const override {
    return absl::StrCat(path_, ": ", HumanCount(samples()),
                        samples() == 1 ? " sample in " : " samples in ",
                        HumanCount(grouping().group_count()),
                        grouping().group_count() == 1 ? " group" : " groups");
  }

  std::shared_ptr<const Order> OrderOf(Epoch epoch) const override {
    const auto plan = std::make_shared<const Plan>(
        setup_->dataset, setup_->policy, setup_->config.seed, epoch);
    return std::shared_ptr<const Order>(plan, &plan->view_order());
  }

 private:
  const Grouping& grouping() const { return setup_->dataset->grouping(); }

  // Constant after construction.
  const std::string path_;
  const std::shared_ptr<const ViewSetup> setup_;
};

absl::StatusOr<BlockMap> EndToEnd(const SyntheticShape& shape,
                                  uint64_t block_bytes) {
  std::vector<uint64_t> addresses(shape.samples);
  for (uint64_t sample = 0; sample < shape.samples; ++sample) {
    addresses[sample] = sample * shape.bytes;
  }
  return BlockMap::Build(addresses, block_bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const SimulatedData>> MakeSyntheticData(
    const ViewConfig& config, const SyntheticShape& shape) {
  if (config.policy == "auto") {
    return absl::InvalidArgumentError(
        "auto chooses by what a source is; name a policy, or a SOURCE");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<const Policy> policy,
                   MakePolicy(config.policy, config.policy_options));
  absl::optional<BlockMap> blocks;
  if (policy->wants_blocks()) {
    ASSIGN_OR_RETURN(blocks, EndToEnd(shape, policy->block_bytes()));
  }
  return std::make_unique<const SyntheticData>(config, shape, std::move(policy),
                                               std::move(blocks));
}

absl::StatusOr<std::unique_ptr<const SimulatedData>> MakeScannedData(
    const ViewConfig& config, const ScannedSource& scanned) {
  ASSIGN_OR_RETURN(std::shared_ptr<const ViewSetup> setup,
                   MakeViewSetup(config, scanned.catalogue,
                                 ToolsWithoutMount(scanned.source), nullptr));
  if (setup->dataset->grouping().sample_count() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(scanned.path, ": there are no samples outside of splits"));
  }
  return std::make_unique<const ScannedData>(scanned.path, std::move(setup));
}

}  // namespace shufflefs
