// SPDX-License-Identifier: Apache-2.0
#include "core/engine/records_maker.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/engine/state_dir.h"
#include "core/pool/file_source.h"
#include "core/pool/memory/arena.h"
#include "core/pool/prefetched_files.h"
#include "core/records/containers/container_set.h"
#include "core/records/content/cached_source.h"
#include "core/records/content/record_producer.h"

namespace shufflefs {
namespace {

// Plain files beside records get at most this part of a view's memory. They
// need little: only what is about to be opened is read ahead.
constexpr uint64_t kPlainPart = 4;
// The records keep this, with the copies of a policy that stages.
constexpr uint64_t kLeastOfRecords =
    RecordProducer::kLeastMemory + (uint64_t{6} << 20);

std::string Summary(const ContainerReport& report) {
  std::string text = absl::StrCat(
      report.indexed, report.indexed == 1 ? " container" : " containers",
      " of ", report.records, " ",
      report.levels.size() == 1 ? report.levels.begin()->first : "records",
      ", ", report.index_bytes, " bytes of index");
  if (report.padded > 0) {
    absl::StrAppend(&text, "; without padding: ", report.padded);
  }
  if (!report.untouched.empty()) {
    absl::StrAppend(&text, "; untouched: ", report.untouched.size(),
                    ", the first ", report.untouched.front().path, ": ",
                    report.untouched.front().why);
  }
  return text;
}

void LogReport(const ContainerReport& report) {
  Log(LogLevel::kInfo, Summary(report));
  for (const std::string& warning : report.warnings) {
    Log(LogLevel::kWarning, warning);
  }
}

// The bytes of a window in a container of `largest` bytes. Divided before it is
// multiplied, so that nothing overflows.
uint64_t WindowBytes(const RecordBlocks& blocks, uint64_t largest) {
  return blocks.window > largest / blocks.bytes ? largest
                                                : blocks.window * blocks.bytes;
}

// Warns if a window of blocks is too large to be held, and says what to do.
void WarnOfWindow(const Policy& policy, const ContainerSet& containers,
                  const RecordProducer& pool) {
  const RecordBlocks blocks = policy.record_blocks();
  const uint64_t most = pool.largest_part();
  const uint64_t largest = containers.largest_bytes();
  if (blocks.bytes == 0 || blocks.window <= most / blocks.bytes ||
      largest <= most) {
    return;
  }
  Log(LogLevel::kWarning,
      absl::StrCat(policy.name(), ": ", blocks.window, " blocks of ",
                   FormatBytes(blocks.bytes),
                   " do not fit three eighths of the memory, so each window is "
                   "read ",
                   (WindowBytes(blocks, largest) - 1) / most + 1,
                   " times: give it more memory, or mix at most ",
                   most / blocks.bytes, " blocks"));
}

std::vector<std::string> ViewsInside(const MountConfig& mount,
                                     const std::string& path) {
  std::vector<std::string> inside;
  for (const ViewConfig& view : mount.views) {
    if (view.path.empty() || view.path == path) continue;
    if (path.empty() || absl::StartsWith(view.path, path + "/")) {
      inside.push_back(view.path);
    }
  }
  return inside;
}

}  // namespace

uint64_t MemoryOfAView(const MountConfig& config, PolicyTable policies,
                       bool may_have_records) {
  const uint64_t memory = Memory(config);
  if (config.peers.members.empty()) {
    return GuaranteeOf(memory, config.views.size());
  }
  const uint64_t pool = PoolBytes(memory);
  const uint64_t views = std::max<size_t>(config.views.size(), 1);
  return (pool - PeersBytes(config, policies, pool, may_have_records)) / views /
         Arena::kPage * Arena::kPage;
}

PoolMemory MemoryOf(PoolMemory memory, const ViewConfig& view, uint64_t pools) {
  memory.name = view.path;
  memory.guarantee /= pools;
  return memory;
}

uint64_t MemoryOfPlainFiles(uint64_t guarantee, uint64_t plain_bytes) {
  const uint64_t bytes = std::max(std::min(plain_bytes, guarantee / kPlainPart),
                                  PrefetchedFiles::kLeastMemory) /
                         Arena::kPage * Arena::kPage;
  return guarantee < bytes + kLeastOfRecords ? 0 : bytes;
}

absl::StatusOr<std::shared_ptr<ContainerSet>> ContainersOf(
    const MountConfig& mount, const ViewConfig& view,
    std::shared_ptr<const Dataset> dataset, ContainerSetOptions options) {
  ASSIGN_OR_RETURN(RecordRules rules, RecordRules::Parse(view.record));
  options.inside = ViewsInside(mount, view.path);
  options.rules_are_shared =
      absl::c_any_of(mount.views, [&](const ViewConfig& other) {
        return other.path != view.path && other.record.as == view.record.as;
      });
  return std::make_shared<ContainerSet>(std::move(dataset), std::move(rules),
                                        options);
}

std::shared_ptr<const PaddedDirs> PaddedOf(const SourceDir& source,
                                           const Dataset& dataset) {
  return PaddedDirs::Load(source, dataset.shared_catalogue(), dataset.root());
}

bool MayHaveContainers(const MountConfig& mount, const SourceDir& source,
                       const std::shared_ptr<const Catalogue>& catalogue) {
  for (const ViewConfig& view : mount.views) {
    if (!view.groups.empty()) return true;  // they may be named there
    auto made = Dataset::Make(catalogue, view, "");
    if (!made.ok()) return true;
    const std::shared_ptr<const Dataset> dataset = *std::move(made);
    const auto containers = ContainersOf(mount, view, dataset);
    if (!containers.ok() || !(*containers)->empty() ||
        !PaddedOf(source, *dataset)->empty()) {
      return true;
    }
  }
  return false;
}

ContainersMaker RecordsFactory::finder() {
  return [this](const ViewConfig& config,
                std::shared_ptr<const Dataset> dataset, const Policy& policy) {
    return Find(config, std::move(dataset), policy);
  };
}

RecordsMaker RecordsFactory::maker() {
  return [this](const ViewConfig& config,
                const std::shared_ptr<const Dataset>& dataset,
                const Policy& policy, const WantedRecords& wanted) {
    return Make(config, *dataset, policy, wanted);
  };
}

absl::Status RecordsFactory::TakeSource(const ViewConfig& config,
                                        const Dataset& dataset,
                                        const Policy& policy,
                                        RecordProducer::Parts& pool,
                                        ViewRecords& records) {
  const std::shared_ptr<const Catalogue> catalogue = dataset.shared_catalogue();
  const DeviceProbe probe =
      parts_.devices->Find(dataset.catalogue(), dataset.root());
  pool.how = absl::StrCat("records of containers, on ", probe.line);
  FileReader* const reader = parts_.producers->SourceReader(probe);
  std::unique_ptr<SampleSource> source;
  if (!policy.stages()) {
    source = std::make_unique<FileSource>(catalogue, reader,
                                          /*many_pieces=*/true);
  } else if (parts_.tiers == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("policy = ", policy.name(), " needs a mount"));
  } else {
    TierMaker::SourceReader from;
    from.reader = reader;
    from.seeks = Seeks(probe);
    from.many_pieces = true;
    ASSIGN_OR_RETURN(const std::shared_ptr<Tier> tier,
                     parts_.tiers->OfRecords({&config, &dataset, &policy, from},
                                             pool.memory.guarantee));
    RecordStaging::Options options;
    options.changed = [tier] { tier->AskNow(); };
    options.repeats_by = std::string(policy.staging()->repeats_by());
    if (!policy.record_repeats(Epoch(0)).repeats() &&
        TierMaker::HoldsAll(tier->status().capacity,
                            records.containers->total_bytes())) {
      options.whole = records.containers->files();
    }
    records.staging =
        std::make_shared<RecordStaging>(catalogue, std::move(options));
    records.tier = [tier] { return tier->status(); };
    tier->Follow(records.staging);
    source = tier->Source();
    absl::StrAppend(&pool.how, "; mini-epochs in ", parts_.config->tier_path);
  }
  pool.catalogue = catalogue;
  pool.source = std::make_unique<CachedSource>(std::move(source),
                                               *parts_.source, catalogue);
  return absl::OkStatus();
}

absl::optional<OwnedDir> RecordsFactory::Saved() const {
  if (!parts_.state.has_value()) return absl::nullopt;
  absl::StatusOr<OwnedDir> saved = parts_.state->Sub(kRecordIndexes);
  if (saved.ok()) return *std::move(saved);
  Log(LogLevel::kWarning,
      absl::StrCat("indexes are not saved: ", saved.status().message()));
  return absl::nullopt;
}

absl::StatusOr<std::shared_ptr<ContainerSet>> RecordsFactory::Find(
    const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
    const Policy& policy) {
  ContainerSetOptions options;
  options.padded = PaddedOf(*parts_.source, *dataset);
  options.only_padded = !ShufflesRecords(policy, config, *dataset);
  if (options.only_padded && options.padded->empty()) return nullptr;
  ASSIGN_OR_RETURN(
      std::shared_ptr<ContainerSet> containers,
      ContainersOf(*parts_.config, config, dataset, std::move(options)));
  if (!containers->empty()) return containers;
  const ContainerReport report = containers->Report();
  if (report.untouched.empty() && report.warnings.empty()) return nullptr;
  // There is nothing to shuffle, but something to report.
  LogReport(report);
  return containers;
}

absl::optional<PoolMemory> RecordsFactory::MemoryOfRecords(
    const ViewConfig& config, const WantedRecords& wanted) const {
  const uint64_t pools = wanted.beside_supply ? 2 : 1;
  PoolMemory memory = MemoryOf(parts_.memory, config, pools);
  if (wanted.plain_bytes > 0) {
    memory.guarantee -=
        MemoryOfPlainFiles(memory.guarantee, wanted.plain_bytes);
  }
  if (pools == 1 || memory.guarantee >= RecordProducer::kLeastMemory)
    return memory;
  Log(LogLevel::kWarning,
      absl::StrCat("containers are shown as they are: to shuffle them, too, "
                   "memory must be at least ",
                   FormatBytes(MemoryFor(pools * RecordProducer::kLeastMemory,
                                         parts_.config->views.size()))));
  return absl::nullopt;
}

absl::StatusOr<ViewRecords> RecordsFactory::Make(const ViewConfig& config,
                                                 const Dataset& dataset,
                                                 const Policy& policy,
                                                 const WantedRecords& wanted) {
  ViewRecords records;
  absl::optional<PoolMemory> memory = MemoryOfRecords(config, wanted);
  if (!memory) return records;
  RecordProducer::Parts pool;
  pool.memory = *std::move(memory);
  records.containers = wanted.containers;
  pool.stall = parts_.stall;
  pool.worker = &worker_;
  RETURN_IF_ERROR(TakeSource(config, dataset, policy, pool, records));
  ASSIGN_OR_RETURN(records.producer, RecordProducer::Make(std::move(pool)));
  if (ShufflesRecords(policy, config, dataset)) {
    WarnOfWindow(policy, *records.containers, *records.producer);
  }
  Index(records.containers);
  return records;
}

void RecordsFactory::Index(const std::shared_ptr<ContainerSet>& containers) {
  if (!containers->TakeIndexing()) return;
  indexers_.Start("sfs-records",
                  [this, containers, saved = Saved()](std::stop_token stop) {
                    ContainerSet::IndexOptions options;
                    options.saved = saved;
                    options.stop = stop;
                    containers->Index(*parts_.source, options);
                    if (stop.stop_requested()) return;
                    LogReport(containers->Report());
                  });
}

void RecordsFactory::Stop() {
  worker_.Stop();
  indexers_.Stop();
}

}  // namespace shufflefs
