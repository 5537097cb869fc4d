// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/simulated_data.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/dataset/block_map.h"
#include "core/engine/policy_resolver.h"
#include "core/policy/plan.h"
#include "core/source/physical.h"
#include "core/view/view_setup.h"
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
        blocks_(std::move(blocks)),
        grouping_(Grouping::WithoutFiles(ClassSizes(shape))) {}

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

  const Policy& policy() const override { return *policy_; }

  absl::StatusOr<PoolData> DataForPool(bool in_place) const override {
    PoolData data;
    data.grouping = &grouping_;
    data.bytes.assign(shape_.samples, shape_.bytes);
    for (uint64_t i = 0; in_place && i < shape_.samples; ++i) {
      data.addresses.push_back(i * shape_.bytes);
    }
    return data;
  }

 private:
  static std::vector<uint32_t> ClassSizes(const SyntheticShape& shape) {
    std::vector<uint32_t> sizes(shape.classes);
    for (uint64_t i = 0; i < shape.samples; ++i) {
      ++sizes[i * shape.classes / shape.samples];
    }
    return sizes;
  }

  // Constant after construction.
  const Seed seed_;
  const SyntheticShape shape_;
  const std::unique_ptr<const Policy> policy_;
  const absl::optional<BlockMap> blocks_;
  const Grouping grouping_;
};

class ScannedData : public SimulatedData {
 public:
  ScannedData(const ScannedSource& scanned,
              std::shared_ptr<const ViewSetup> setup)
      : path_(scanned.path),
        source_(scanned.source),
        setup_(std::move(setup)) {}

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

  const Policy& policy() const override { return *setup_->policy; }

  absl::StatusOr<PoolData> DataForPool(bool in_place) const override;

 private:
  const Grouping& grouping() const { return setup_->dataset->grouping(); }

  // Constant after construction.
  const std::string path_;
  const SourceDir& source_;
  const std::shared_ptr<const ViewSetup> setup_;
};

absl::StatusOr<PoolData> ScannedData::DataForPool(bool in_place) const {
  const Dataset& dataset = *setup_->dataset;
  if (!dataset.moves()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": names would always show their own samples: ",
                     dataset.substitute_reason(),
                     "; if labels do not go by name, add "
                     "substitute=directory"));
  }
  PoolData data;
  data.grouping = &grouping();
  data.key = dataset.key();
  data.bytes.resize(samples());
  std::vector<EntryId> files;
  for (uint32_t g = 0; g < grouping().group_count(); ++g) {
    const Grouping::Group& group = grouping().group(GroupId(g));
    for (uint32_t i = 0; i < group.samples; ++i) {
      files.push_back(grouping().member(GroupId(g), i, 0));
      for (uint32_t c = 0; c < group.columns; ++c) {
        data.bytes[group.first_sample + i] +=
            dataset.catalogue()
                .attributes(grouping().member(GroupId(g), i, c))
                .size;
      }
    }
  }
  if (in_place) {
    ASSIGN_OR_RETURN(DeviceLayout layout,
                     DeviceAddresses(source_, dataset.catalogue(), files, {}));
    data.addresses = std::move(layout.addresses);
  }
  return data;
}

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
  ASSIGN_OR_RETURN(
      std::shared_ptr<const ViewSetup> setup,
      MakeViewSetup(config, scanned.catalogue,
                    ToolsWithoutMount(scanned.source, AllPolicies()), nullptr));
  if (setup->dataset->grouping().sample_count() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(scanned.path,
                     ": there are no samples outside of splits; name the "
                     "directory of the training data"));
  }
  return std::make_unique<const ScannedData>(scanned, std::move(setup));
}

}  // namespace shufflefs
