// SPDX-License-Identifier: Apache-2.0
#include "core/engine/policy_resolver.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/machine_memory.h"
#include "core/base/status.h"
#include "core/catalogue/file_totals.h"
#include "core/engine/dataset_facts.h"
#include "core/engine/producer_factory.h"
#include "core/engine/records_maker.h"
#include "core/engine/tier_maker.h"
#include "core/pool/memory/arena.h"

namespace shufflefs {
namespace {

absl::StatusOr<AutoChoice> Choose(const ResolverParts& parts,
                                  const ViewConfig& config,
                                  const Dataset& dataset,
                                  const DeviceProbe& probe) {
  // This pointer owns nothing. It is destroyed before the dataset.
  const std::shared_ptr<const Dataset> here(std::shared_ptr<void>(), &dataset);
  ASSIGN_OR_RETURN(
      const std::shared_ptr<ContainerSet> containers,
      ContainersOf(parts.config != nullptr ? *parts.config : MountConfig(),
                   config, here));
  FactsInput input;
  input.catalogue = &dataset.catalogue();
  input.root = dataset.root();
  input.grouping = &dataset.grouping();
  input.substitution_safety = &dataset.substitution_safety();
  input.device = &probe;
  input.config = &config;
  input.policies = parts.policies.table;
  input.containers = containers.get();
  if (parts.config != nullptr) {
    input.open = parts.config->open;
    input.has_peers = !parts.config->peers.members.empty();
  }
  input.machine_memory = MachineMemoryBytes();
  input.view_memory =
      MemoryOfAView(parts.config != nullptr ? *parts.config : MountConfig(),
                    parts.policies.table);
  if (parts.ledger != nullptr) {
    input.under_way = parts.ledger->PolicyUnderWay(
        config.path, dataset.catalogue().samples_fingerprint());
  }
  return parts.policies.choose(FactsOf(input));
}

// Returns the bytes of memory that a view's samples take.
uint64_t SampleBytes(const Dataset& dataset) {
  const Grouping& grouping = dataset.grouping();
  uint64_t bytes = 0;
  for (uint64_t s = 0; s < grouping.sample_count(); ++s) {
    const SampleId sample(s);
    for (uint32_t c = 0; c < grouping.columns(sample); ++c) {
      bytes += Arena::Footprint(
          dataset.catalogue().file_size(grouping.member(sample, c)));
    }
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<const Policy>> MakeFor(
    const ResolverParts& parts, absl::string_view name,
    const ViewConfig& config, const Dataset& dataset) {
  const PolicyTable policies = parts.policies.table;
  PolicyOptions options = config.policy_options;
  if (parts.config != nullptr) options.Add(parts.config->policy_options);
  const PolicyEntry* const entry = FindPolicy(policies, name);
  if (entry == nullptr || !entry->shares_tier || parts.config == nullptr) {
    return MakePolicy(policies, name, options);
  }
  StagedView view;
  view.ranked = config.layout == Layout::kRanked;
  view.moves = dataset.moves();
  view.samples = dataset.grouping().sample_count();
  view.sample_bytes = SampleBytes(dataset);
  view.file_bytes = TotalsBelow(dataset.catalogue(), dataset.root()).bytes;
  view.tier_bytes =
      TierMaker::CapacityOf({parts.config, parts.given, policies}, config);
  view.record_bytes = TierMaker::BytesOfRecords(view.tier_bytes);
  return MakePolicy(policies, name, options, &view);
}

}  // namespace

PolicyResolver MakeResolver(const ResolverParts& parts) {
  return [parts](const ViewConfig& config,
                 const Dataset& dataset) -> absl::StatusOr<ResolvedPolicy> {
    ResolvedPolicy resolved;
    std::string name = config.policy;
    resolved.why = "asked for";
    if (name == "auto") {
      DeviceProbe probe =
          parts.devices->Find(dataset.catalogue(), dataset.root());
      ASSIGN_OR_RETURN(AutoChoice choice,
                       Choose(parts, config, dataset, probe));
      name = choice.policy;
      resolved.why = std::move(choice.why);
      resolved.device = std::move(probe.line);
    } else if (!dataset.moves()) {
      resolved.why = absl::StrCat("asked for; names keep their own samples (",
                                  dataset.substitute_reason(), ")");
    }
    ASSIGN_OR_RETURN(resolved.policy, MakeFor(parts, name, config, dataset));
    return resolved;
  };
}

SetupTools ToolsWithoutMount(const SourceDir& source, const PolicySet& policies,
                             const MountConfig* config) {
  ResolverParts resolver;
  resolver.policies = policies;
  resolver.devices = std::make_shared<DeviceFinder>(source);
  resolver.config = config;
  SetupTools tools;
  tools.policies = policies.table;
  tools.addresses = [&source](const Dataset& dataset) {
    return SampleAddresses(source, dataset, PhysicalOptions());
  };
  tools.resolver = MakeResolver(resolver);
  if (config == nullptr) return tools;
  for (const ViewConfig& view : config->views) tools.views.push_back(view.path);
  return tools;
}

}  // namespace shufflefs
