// SPDX-License-Identifier: Apache-2.0
#include "core/engine/indexer.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/machine_memory.h"
#include "core/base/status.h"
#include "core/catalogue/catalogue_file.h"
#include "core/engine/dataset_facts.h"
#include "core/engine/records_maker.h"
#include "core/engine/supply_maker.h"
#include "core/engine/tier_maker.h"
#include "core/policy/mini_epoch_count.h"
#include "core/pool/arena.h"
#include "core/scan/drift.h"
#include "core/scan/scan.h"

namespace shufflefs {
namespace {

constexpr size_t kMostOpenFiles = 4096;

// Raises the limit as far as it goes, and takes half of it for the source.
size_t OpenLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<size_t>(limit.rlim_cur / 2, kMostOpenFiles);
}

// A mountpoint inside the source is not part of it.
std::string PathInside(const std::string& source,
                       const std::string& mountpoint) {
  const std::string prefix = source == "/" ? source : source + "/";
  if (!absl::StartsWith(mountpoint, prefix)) return "";
  return mountpoint.substr(prefix.size());
}

absl::StatusOr<Catalogue> LoadSaved(const IndexerParts& parts) {
  ASSIGN_OR_RETURN(Catalogue saved, LoadCatalogue(parts.state->catalogue()));
  DriftOptions options;
  options.serves_others = parts.config->allow_other;
  const absl::optional<std::string> drift =
      FindDrift(*parts.source, saved, options);
  if (drift) {
    return absl::FailedPreconditionError(
        absl::StrCat(*drift, ": scanning again"));
  }
  return saved;
}

SetupTools ToolsOf(const IndexerParts& parts) {
  ResolverParts resolver;
  resolver.policies = parts.policies;
  resolver.devices = parts.devices;
  resolver.view_memory = MemoryOfAView(*parts.config);
  resolver.config = parts.config;
  resolver.open = parts.config->open;
  resolver.ledger = parts.ledger;
  SetupTools tools;
  tools.addresses = parts.addresses;
  tools.resolver = MakeResolver(resolver);
  tools.supply = parts.supply;
  tools.ahead = parts.ahead;
  tools.foresight = parts.foresight;
  tools.records = parts.records;
  return tools;
}

}  // namespace

absl::StatusOr<FoundCatalogue> GetCatalogue(const IndexerParts& parts,
                                            std::stop_token stop) {
  absl::StatusOr<Catalogue> saved = LoadSaved(parts);
  if (saved.ok()) {
    return FoundCatalogue{std::make_shared<const Catalogue>(*std::move(saved)),
                          true};
  }
  if (!absl::IsNotFound(saved.status())) {
    Log(LogLevel::kInfo,
        absl::StrCat("saved catalogue: ", saved.status().message()));
  }
  ScanOptions options;
  options.skip_path =
      PathInside(parts.config->source, parts.config->mountpoint);
  options.progress = parts.progress;
  options.stop = stop;
  options.serves_others = parts.config->allow_other;
  ASSIGN_OR_RETURN(Catalogue scanned, Scan(*parts.source, options));
  if (absl::Status done = SaveCatalogue(scanned, parts.state->catalogue());
      !done.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat("catalogue not saved: ", done.message()));
  }
  return FoundCatalogue{std::make_shared<const Catalogue>(std::move(scanned)),
                        false};
}

absl::StatusOr<std::unique_ptr<ServedDataset>> MakeServed(
    const IndexerParts& parts, std::shared_ptr<const Catalogue> catalogue,
    bool something_was_read) {
  const SetupTools tools = ToolsOf(parts);
  std::vector<std::shared_ptr<const ViewSetup>> setups;
  bool sees_opens = parts.config->open == OpenMode::kSeen;
  for (const ViewConfig& config : parts.config->views) {
    auto setup = MakeViewSetup(config, catalogue, tools, nullptr);
    if (!setup.ok()) {
      return Annotate(setup.status(), absl::StrCat("view '", config.path, "'"));
    }
    const bool wants_opens =
        (((*setup)->rebinds() || (*setup)->records.pool != nullptr) &&
         config.epoch_advance == Advance::kAuto) ||
        (*setup)->binds_on_demand();
    sees_opens |= wants_opens && parts.config->open == OpenMode::kAuto;
    if ((*setup)->binds_on_demand() && !sees_opens) {
      return absl::InvalidArgumentError(
          absl::StrCat("policy = ", (*setup)->policy->name(),
                       " needs to see opens: leave out -o open=unseen"));
    }
    Log(LogLevel::kInfo,
        absl::StrCat(config.path.empty() ? "root" : config.path, ": ",
                     (*setup)->policy->name(), ": ", (*setup)->why));
    setups.push_back(*std::move(setup));
  }
  std::vector<std::unique_ptr<View>> views;
  for (const std::shared_ptr<const ViewSetup>& setup : setups) {
    View::Parts view;
    view.id = views.size();
    view.setup = setup;
    if (const auto& ran = (*parts.running)[view.id]) {
      ASSIGN_OR_RETURN(view.running,
                       MakeViewSetup(*ran, catalogue, tools, setup.get()));
    }
    view.tools = tools;
    view.families = parts.families;
    view.nodes = parts.nodes;
    view.ledger = parts.ledger;
    view.rebound = parts.rebound;
    view.settled = parts.settled;
    view.doubted = parts.doubted;
    view.sees_opens = sees_opens;
    view.wait_for_boundary = something_was_read;
    views.push_back(std::make_unique<View>(std::move(view)));
  }
  auto plain =
      std::make_unique<PlainReads>(PlainReads::Parts{.source = parts.source,
                                                     .catalogue = catalogue,
                                                     .open_limit = OpenLimit(),
                                                     .stall = parts.stall});
  return std::make_unique<ServedDataset>(std::move(catalogue), std::move(plain),
                                         std::move(views), sees_opens);
}

SetupTools ToolsWithoutMount(const SourceDir& source,
                             const PolicySet& policies) {
  SetupTools tools;
  tools.addresses = [&source](const Dataset& dataset) {
    return SampleAddresses(source, dataset, PhysicalOptions());
  };
  ResolverParts resolver;
  resolver.policies = policies;
  resolver.devices = std::make_shared<DeviceFinder>(source);
  resolver.view_memory = DefaultMemory();
  tools.resolver = MakeResolver(resolver);
  return tools;
}

namespace {

absl::StatusOr<AutoChoice> Choose(const ResolverParts& parts,
                                  const ViewConfig& config,
                                  const Dataset& dataset,
                                  const DeviceProbe& probe) {
  // Not owned: it goes before the dataset does.
  const std::shared_ptr<const Dataset> here(std::shared_ptr<void>(), &dataset);
  ASSIGN_OR_RETURN(
      const std::shared_ptr<ContainerSet> containers,
      ContainersOf(parts.config != nullptr ? *parts.config : MountConfig(),
                   config, here));
  FactsInput input;
  input.catalogue = &dataset.catalogue();
  input.grouping = &dataset.grouping();
  input.movability = &dataset.movability();
  input.device = &probe;
  input.config = &config;
  input.containers = containers.get();
  input.open = parts.open;
  input.machine_memory = MachineMemoryBytes();
  input.view_memory = parts.view_memory;
  if (parts.ledger != nullptr) {
    input.under_way = parts.ledger->PolicyUnderWay(
        config.path, dataset.catalogue().samples_fingerprint());
  }
  return parts.policies.choose(FactsOf(input));
}

// Bytes of a view's samples as memory holds them.
uint64_t SampleBytes(const Dataset& dataset) {
  const Grouping& grouping = dataset.grouping();
  uint64_t bytes = 0;
  for (uint64_t s = 0; s < grouping.sample_count(); ++s) {
    const SampleId sample(s);
    for (uint32_t c = 0; c < grouping.columns(sample); ++c) {
      bytes += Arena::Footprint(
          dataset.catalogue().attributes(grouping.member(sample, c)).size);
    }
  }
  return bytes;
}

uint64_t FileBytes(const Dataset& dataset) {
  const Catalogue& catalogue = dataset.catalogue();
  const uint32_t end = catalogue.entries_end(dataset.root()).value();
  uint64_t bytes = 0;
  for (uint32_t e = catalogue.first_entry(dataset.root()).value(); e < end;
       ++e) {
    const EntryId entry(e);
    if (catalogue.kind(entry) == EntryKind::kFile) {
      bytes += catalogue.attributes(entry).size;
    }
  }
  return bytes;
}

// Ranks of met, and records, come alike in every mount, so what they need of
// the tier's size is taken from the key, not from what is free.
PolicyOptions WithMiniEpochs(const ResolverParts& parts,
                             const ViewConfig& config, const Dataset& dataset) {
  PolicyOptions options = config.policy_options;
  if (config.policy != "met" || options.met_mini_epochs != 0 ||
      parts.config == nullptr) {
    return options;
  }
  if (config.layout == Layout::kRanked) {
    options.met_mini_epochs = MiniEpochsInTier(
        dataset.grouping().sample_count(), SampleBytes(dataset),
        TierMaker::CapacityOf(*parts.config, config));
  } else if (!dataset.moves()) {
    options.met_record_bytes = TierMaker::BytesOfRecords(*parts.config, config);
    if (TierMaker::HoldsAll(TierMaker::CapacityOf(*parts.config, config),
                            FileBytes(dataset))) {
      options.met_mini_epochs = 1;  // nothing need be repeated
    }
  }
  return options;
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
    ASSIGN_OR_RETURN(resolved.policy,
                     parts.policies.make(
                         name, WithMiniEpochs(parts, config, dataset)));
    return resolved;
  };
}

}  // namespace shufflefs
