// SPDX-License-Identifier: Apache-2.0
#include "core/view/view_setup.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/sampler/name_predictor.h"
#include "core/sampler/sampler_prefetcher.h"
#include "xxhash.h"

namespace shufflefs {
namespace {

// Enough for the lines of some ten million files.
constexpr uint64_t kMostGroupsBytes = uint64_t{1} << 30;

bool SameDataset(const ViewConfig& a, const ViewConfig& b) {
  return a.path == b.path && a.substitute == b.substitute && a.pair == b.pair &&
         a.groups == b.groups;
}

// Finds the place of each sample's first file. Returns how it was found.
absl::StatusOr<std::string> FindAddresses(const SetupTools& tools,
                                          Dataset& dataset) {
  ASSIGN_OR_RETURN(DeviceLayout layout, tools.addresses(dataset));
  dataset.SetAddresses(std::move(layout.addresses));
  return std::move(layout.how);
}

void Take(ResolvedPolicy resolved, ViewSetup& setup) {
  setup.policy = std::move(resolved.policy);
  setup.why = std::move(resolved.why);
  if (!resolved.device.empty()) setup.device = std::move(resolved.device);
}

uint64_t HashOfGroups(const std::string& text) {
  // Another seed than OptionsHash has, or two equal texts would cancel out.
  return text.empty() ? 0 : XXH3_64bits_withSeed(text.data(), text.size(), 1);
}

// Hash of what a policy that stages derives from the size of the tier. The keys
// of the view do not say it, but the order of ranks and records follows from
// it. 0 if the order follows from the keys alone, as it does in old ledgers.
uint64_t HashOfTier(const SetupTools& tools, const ViewSetup& setup) {
  if (!setup.policy->stages() || setup.rebinds()) return 0;
  const auto by_keys = MakePolicy(tools.policies, setup.policy->name(),
                                  setup.config.policy_options);
  if (!by_keys.ok() || !(*by_keys)->stages()) return 0;
  const RecordRepeats plain = (*by_keys)->record_repeats(Epoch(0));
  const RecordRepeats derived = setup.policy->record_repeats(Epoch(0));
  if (setup.config.layout == Layout::kRanked) {
    if (derived.mini_epochs <= 1 || derived.mini_epochs == plain.mini_epochs) {
      return 0;
    }
  } else if (derived.factor <= 1 || (derived.mini_epochs == plain.mini_epochs &&
                                     derived.most_bytes == plain.most_bytes)) {
    return 0;
  }
  // If the number is known, it does not follow from the bytes.
  const uint64_t numbers[] = {
      derived.mini_epochs, derived.mini_epochs == 0 ? derived.most_bytes : 0};
  return XXH3_64bits_withSeed(numbers, sizeof(numbers), 2);
}

// REQUIRES: the policy and the dataset are there.
void SetOptionsHash(const SetupTools& tools, ViewSetup& setup) {
  setup.options_hash = OptionsHash(setup.config, tools.policies) ^
                       setup.groups_hash ^ HashOfTier(tools, setup);
  if (setup.policy->wants_blocks()) {
    setup.options_hash ^= setup.dataset->addresses_hash();
  }
}

// Keys that change no bindings count, too, because a binder was made with them.
bool SameKeys(const SetupTools& tools, const ViewSetup& a, const ViewSetup& b) {
  const PolicyEntry* const entry = FindPolicy(tools.policies, b.policy->name());
  return entry == nullptr ||
         SameKeys(*entry, a.config.policy_options, b.config.policy_options);
}

bool IsReactive(const ViewSetup& setup) {
  return setup.policy->consumption() == Consumption::kReactive &&
         setup.rebinds();
}

bool WantsProducer(const SetupTools& tools, const ViewSetup& setup) {
  return tools.samples && (IsReactive(setup) || setup.policy->keeps_first() ||
                           setup.stages_ranks());
}

bool SharesNames(const SetupTools& tools, const ViewSetup& setup) {
  return tools.ask && IsReactive(setup) && setup.policy->shares_names();
}

void MakeSharedNames(const SetupTools& tools, ViewSetup& setup) {
  if (!SharesNames(tools, setup)) return;
  SharedNames::Parts parts;
  parts.grouping = &setup.dataset->grouping();
  parts.dataset_key = setup.dataset->key();
  parts.own = setup.samples;
  parts.locality = setup.policy->locality();
  parts.ask = [ask = tools.ask, path = setup.config.path](
                  const SharedNames::Question& question,
                  std::chrono::milliseconds within,
                  SharedNames::Answer answer) {
    ask(path, question, within, std::move(answer));
  };
  if (tools.names_begin) {
    parts.begins = [begins = tools.names_begin, path = setup.config.path](
                       uint64_t binding) { begins(path, binding); };
  }
  parts.waits = tools.waits;
  setup.shared = std::make_shared<SharedNames>(std::move(parts));
  if (!tools.predictor) return;
  setup.predictor = tools.predictor(
      setup.dataset, [names = std::weak_ptr<SharedNames>(setup.shared)](
                         const std::vector<SampleId>& next) {
        if (const auto shared = names.lock()) shared->AskAhead(next);
      });
}

// Nodes that bind names by what is in their own memory, and share none, would
// show a sample several times or not at all.
absl::Status CheckNodes(const SetupTools& tools, const ViewSetup& setup) {
  const absl::optional<NodeShare>& nodes = setup.config.nodes;
  if (!IsReactive(setup) || SharesNames(tools, setup)) return absl::OkStatus();
  const bool is_alone = nodes && nodes->count == 1;
  std::string why;
  if (nodes && !is_alone) {
    why = absl::StrCat("nodes = ", nodes->number, "/", nodes->count);
  } else if (tools.ask && !is_alone) {
    why = "peers";
  } else {
    return absl::OkStatus();
  }
  const absl::string_view instead = setup.policy->instead_on_nodes();
  return absl::InvalidArgumentError(
      absl::StrCat(why, ": policy = ", setup.policy->name(),
                   " binds names by what is in one node's memory, so a "
                   "sample might come on several nodes or on none",
                   instead.empty() ? "" : "; policy = ", instead,
                   instead.empty() ? "" : " binds alike on all"));
}

absl::Status MakeProducer(const SetupTools& tools, const ViewSetup* reuse,
                          ViewSetup& setup) {
  if (!WantsProducer(tools, setup)) return absl::OkStatus();
  RETURN_IF_ERROR(CheckNodes(tools, setup));
  if (reuse != nullptr && reuse->samples != nullptr &&
      reuse->policy->name() == setup.policy->name() &&
      reuse->options_hash == setup.options_hash &&
      reuse->records.producer == setup.records.producer &&
      SameKeys(tools, *reuse, setup)) {
    setup.samples = reuse->samples;
    setup.shared = reuse->shared;
    setup.predictor = reuse->predictor;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(setup.samples, tools.samples(setup.config, setup.dataset,
                                                *setup.policy, setup.records));
  MakeSharedNames(tools, setup);
  return absl::OkStatus();
}

bool Shuffles(const ViewSetup& setup) {
  return ShufflesRecords(*setup.policy, setup.config, *setup.dataset);
}

// Returns whether both show the same records from the same memory. REQUIRES:
// they have the same dataset.
bool SameRecords(const SetupTools& tools, const ViewSetup& now,
                 const ViewSetup& next) {
  return now.records.containers != nullptr &&
         (now.samples != nullptr) == WantsProducer(tools, next) &&
         Shuffles(now) == Shuffles(next) &&
         now.policy->stages() == next.policy->stages() &&
         // Staged blocks have one size.
         (!next.policy->stages() || now.policy->record_blocks().bytes ==
                                        next.policy->record_blocks().bytes) &&
         now.config.record == next.config.record;
}

absl::Status FindContainers(const SetupTools& tools, const ViewSetup* reuse,
                            ViewSetup& setup) {
  if (!tools.containers) return absl::OkStatus();
  // A tier holds either samples or records.
  if (WantsProducer(tools, setup) &&
      (setup.policy->stages() || !Shuffles(setup))) {
    return absl::OkStatus();
  }
  if (reuse != nullptr && SameRecords(tools, *reuse, setup)) {
    setup.records.containers = reuse->records.containers;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(
      setup.records.containers,
      tools.containers(setup.config, setup.dataset, *setup.policy));
  return absl::OkStatus();
}

bool HasContainers(const ViewSetup& setup) {
  return setup.records.containers != nullptr &&
         !setup.records.containers->empty();
}

PlainFiles PlainFilesOf(const ViewSetup& setup) {
  PlainFiles plain;
  if (!HasContainers(setup)) return plain;
  plain.containers = setup.records.containers;
  const Dataset& dataset = *setup.dataset;
  const uint32_t end = dataset.catalogue().entries_end(dataset.root()).value();
  for (uint32_t e = dataset.catalogue().first_entry(dataset.root()).value();
       e < end; ++e) {
    const EntryId file(e);
    if (dataset.catalogue().kind(file) != EntryKind::kFile ||
        plain.containers->Covers(file)) {
      continue;
    }
    plain.bytes += dataset.catalogue().file_size(file);
  }
  return plain;
}

// Returns whether `reuse` (may be null) reads the same files ahead.
bool SamePlainFiles(const ViewSetup* reuse, const PlainFiles& plain) {
  if (reuse == nullptr) return false;
  return HasContainers(*reuse) ? plain.containers == reuse->records.containers
                               : plain.containers == nullptr;
}

bool HasPlainSamples(const Grouping& grouping, const PlainFiles& plain) {
  if (plain.containers == nullptr) return true;
  for (uint64_t s = 0; s < grouping.sample_count(); ++s) {
    const SampleId sample(s);
    for (uint32_t c = 0; c < grouping.columns(sample); ++c) {
      if (!plain.containers->Covers(grouping.member(sample, c))) return true;
    }
  }
  return false;
}

absl::Status MakeReadAhead(const SetupTools& tools, const ViewSetup* reuse,
                           const PlainFiles& plain, ViewSetup& setup) {
  if (!tools.ahead || WantsProducer(tools, setup) ||
      setup.policy->consumption() == Consumption::kSource ||
      !HasPlainSamples(setup.dataset->grouping(), plain)) {
    return absl::OkStatus();
  }
  if (SamePlainFiles(reuse, plain) && reuse->ahead != nullptr) {
    setup.ahead = reuse->ahead;  // of the same dataset
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(setup.ahead, tools.ahead(setup.dataset, plain));
  return absl::OkStatus();
}

absl::Status MakeSamplerPrefetcher(const SetupTools& tools,
                                   const ViewSetup* reuse,
                                   const PlainFiles& plain, ViewSetup& setup) {
  const PrefetchFacet* const facet = setup.policy->prefetch();
  if (!tools.prefetcher || facet == nullptr ||
      (plain.containers != nullptr && plain.bytes == 0)) {
    return absl::OkStatus();
  }
  if (SamePlainFiles(reuse, plain) && reuse->prefetcher != nullptr &&
      *reuse->policy->prefetch() == *facet) {
    setup.prefetcher = reuse->prefetcher;  // of the same dataset
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(setup.prefetcher,
                   tools.prefetcher(*facet, setup.dataset, plain,
                                    /*read_before=*/reuse != nullptr));
  if (setup.prefetcher == nullptr) {
    absl::StrAppend(&setup.why,
                    "; nothing is read ahead, because the source is fast or "
                    "`memory` is too small");
  }
  return absl::OkStatus();
}

bool ReadsFilesAhead(const ViewSetup& setup) {
  return setup.ahead != nullptr || setup.prefetcher != nullptr;
}

absl::Status MakeRecords(const SetupTools& tools, const ViewSetup* reuse,
                         const PlainFiles& plain, ViewSetup& setup) {
  if (!tools.records || !HasContainers(setup)) return absl::OkStatus();
  if (reuse != nullptr &&
      reuse->records.containers == setup.records.containers &&
      ReadsFilesAhead(*reuse) == ReadsFilesAhead(setup)) {
    setup.records = reuse->records;
    return absl::OkStatus();
  }
  WantedRecords wanted;
  wanted.containers = setup.records.containers;
  wanted.beside_supply = WantsProducer(tools, setup);
  if (ReadsFilesAhead(setup)) wanted.plain_bytes = plain.bytes;
  ASSIGN_OR_RETURN(setup.records, tools.records(setup.config, setup.dataset,
                                                *setup.policy, wanted));
  return absl::OkStatus();
}

// First what reads plain files ahead, as its part of the memory is not for
// records. A producer leaves out what the records answer.
absl::Status MakeMemory(const SetupTools& tools, const ViewSetup* reuse,
                        ViewSetup& setup) {
  RETURN_IF_ERROR(FindContainers(tools, reuse, setup));
  const PlainFiles plain = PlainFilesOf(setup);
  RETURN_IF_ERROR(MakeSamplerPrefetcher(tools, reuse, plain, setup));
  RETURN_IF_ERROR(MakeReadAhead(tools, reuse, plain, setup));
  RETURN_IF_ERROR(MakeRecords(tools, reuse, plain, setup));
  return MakeProducer(tools, reuse, setup);
}

}  // namespace

absl::StatusOr<std::string> ReadGroups(const PathReach& reach,
                                       const std::string& path) {
  if (path.empty()) return std::string();
  const UniqueFd fd(
      open(Reached(reach, path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const absl::StatusOr<std::string> text =
      fd.valid() ? ReadWhole(fd.get(), path, kMostGroupsBytes)
                 : ErrnoStatus(errno, path);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      "groups = ", path, ": cannot be read (", text.status().message(), ")"));
}

absl::StatusOr<DeviceLayout> SampleAddresses(const SourceDir& source,
                                             const Dataset& dataset,
                                             const PhysicalOptions& options) {
  const Grouping& grouping = dataset.grouping();
  std::vector<EntryId> files;
  files.reserve(grouping.sample_count());
  for (uint64_t s = 0; s < grouping.sample_count(); ++s) {
    files.push_back(grouping.first_member(SampleId(s)));
  }
  return DeviceAddresses(source, dataset.catalogue(), files, options);
}

bool ShufflesRecords(const Policy& policy, const ViewConfig& config,
                     const Dataset& dataset) {
  if (!policy.shuffles_records()) return false;
  return policy.consumption() != Consumption::kReactive || policy.stages() ||
         (dataset.moves() && config.layout == Layout::kTree);
}

bool ShowsEpochs(const ViewSetup& setup) {
  return setup.rebinds() ||
         (setup.records.producer != nullptr &&
          ShufflesRecords(*setup.policy, setup.config, *setup.dataset));
}

bool PassesOfRecordsCount(const ViewSetup& setup) {
  return setup.config.epoch_advance == Advance::kAuto && !setup.rebinds();
}

ReadBefore ReadBeforeOf(const FilesRead& read, const ViewSetup& setup) {
  if (read.what != ReadBefore::kSomething || setup.rebinds()) return read.what;
  const ContainerSet* const containers = setup.records.producer == nullptr
                                             ? nullptr
                                             : setup.records.containers.get();
  const std::string below = absl::StrCat(setup.config.path, "/");
  const auto counts = [&](const std::string& path) {
    if (containers == nullptr) {
      return setup.config.path.empty() || absl::StartsWith(path, below);
    }
    const absl::optional<EntryId> file =
        setup.dataset->catalogue().FindPath(path);
    return file && containers->Covers(*file);
  };
  if (!read.complete && containers != nullptr) return ReadBefore::kUnknown;
  return !read.complete || absl::c_any_of(read.paths, counts)
             ? ReadBefore::kSomething
             : ReadBefore::kNothing;
}

bool SwitchesInPass(const ViewSetup& now, const ViewSetup& next) {
  // Ranks of a directory are the order of its epoch.
  return !ShowsEpochs(now) && !ShowsEpochs(next) &&
         now.config.layout != Layout::kRanked &&
         now.config.epoch_advance == Advance::kAuto &&
         next.config.epoch_advance == Advance::kAuto;
}

std::shared_ptr<ContentProvider> ViewSetup::provider() const {
  if (samples != nullptr) return samples;
  if (prefetcher != nullptr) return prefetcher;
  return ahead;
}

void ViewSetup::NoteLookup(EntryId name, uint32_t reader,
                           std::chrono::milliseconds now) const {
  if (predictor != nullptr) predictor->OnLookup(name, reader, now);
}

void ViewSetup::NoteOpen(EntryId file, uint32_t reader,
                         std::chrono::milliseconds now) const {
  if (prefetcher != nullptr) prefetcher->OnOpen(file, reader, now);
}

void ViewSetup::NoteReportedOpen(EntryId file, uint32_t reader,
                                 std::chrono::milliseconds now) const {
  NoteOpen(file, reader, now);
  if (binds_on_demand()) samples->NoteReportedOpen(file);
}

uint64_t OptionsHash(const ViewConfig& config, PolicyTable policies) {
  // The places in between belong to policies' keys.
  const RecordOptions& record = config.record;
  std::vector<PlacedText> texts = {
      {0, absl::StrCat(static_cast<int>(config.layout))},
      {1, absl::StrCat(static_cast<int>(config.pair))},
      {10, config.groups},
      {13, record.as},
      {14, absl::StrCat(record.bytes)},
      {15, absl::StrCat(record.header)},
      {16, absl::StrCat(static_cast<int>(record.csv))},
      {17, record.align},
      {18, absl::StrCat(static_cast<int>(record.scope))}};
  std::vector<PlacedText> keys = BindingTexts(policies, config.policy_options);
  texts.insert(texts.end(), keys.begin(), keys.end());
  std::sort(texts.begin(), texts.end());
  const std::string text =
      absl::StrJoin(texts, " ", [](std::string* out, const PlacedText& placed) {
        out->append(placed.second);
      });
  return XXH3_64bits(text.data(), text.size());
}

absl::StatusOr<std::shared_ptr<const ViewSetup>> MakeViewSetup(
    const ViewConfig& config, std::shared_ptr<const Catalogue> catalogue,
    const SetupTools& tools, const ViewSetup* reuse) {
  auto setup = std::make_shared<ViewSetup>();
  setup->config = config;
  if (reuse != nullptr && SameDataset(config, reuse->config)) {
    ASSIGN_OR_RETURN(ResolvedPolicy resolved,
                     tools.resolver(config, *reuse->dataset));
    if (!resolved.policy->wants_blocks() || reuse->dataset->has_addresses()) {
      setup->dataset = reuse->dataset;
      setup->ranked = reuse->ranked;
      setup->device = reuse->device;
      setup->groups_hash = reuse->groups_hash;
      Take(std::move(resolved), *setup);
      SetOptionsHash(tools, *setup);
      RETURN_IF_ERROR(MakeMemory(tools, reuse, *setup));
      return std::shared_ptr<const ViewSetup>(std::move(setup));
    }
  }
  ASSIGN_OR_RETURN(std::string groups, ReadGroups(tools.reach, config.groups));
  setup->groups_hash = HashOfGroups(groups);
  if (reuse != nullptr && SameDataset(config, reuse->config) &&
      setup->groups_hash != reuse->groups_hash) {
    // Which samples exist, and their numbers, cannot change while mounted.
    return absl::FailedPreconditionError(
        absl::StrCat("groups = ", config.groups,
                     ": the file has changed since the mount began; unmount, "
                     "and mount again"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset,
                   Dataset::Make(std::move(catalogue), config, groups,
                                 tools.views, tools.verdicts));
  ASSIGN_OR_RETURN(ResolvedPolicy resolved, tools.resolver(config, *dataset));
  Take(std::move(resolved), *setup);
  if (setup->policy->wants_blocks()) {
    ASSIGN_OR_RETURN(setup->device, FindAddresses(tools, *dataset));
  }
  setup->dataset = std::move(dataset);
  SetOptionsHash(tools, *setup);
  setup->ranked = std::make_shared<RankedNames>(setup->dataset, tools.waits);
  RETURN_IF_ERROR(MakeMemory(tools, nullptr, *setup));
  return std::shared_ptr<const ViewSetup>(std::move(setup));
}

}  // namespace shufflefs
