// SPDX-License-Identifier: Apache-2.0
#include "core/engine/producer_factory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/machine_memory.h"
#include "core/base/status.h"
#include "core/catalogue/file_totals.h"
#include "core/policy/policy_entry.h"
#include "core/pool/chunk_map.h"
#include "core/pool/file_source.h"
#include "core/pool/memory/arena.h"
#include "core/pool/prefetched_files.h"
#include "core/sampler/name_predictor.h"
#include "core/sampler/sampler_prefetcher.h"
#include "core/scan/scan.h"
#include "core/source/device_probe.h"
#include "core/staging/pack/pack_chunks.h"
#include "core/staging/pack/pack_index.h"
#include "core/staging/pack/packed_source.h"

namespace shufflefs {
namespace {

// Reads of packs go through this part of the view's memory.
constexpr uint64_t kStagingPart = 8;
// Of the pool, with peers: enough to shuffle records. A view without containers
// whose order is known only holds files that are about to be opened, and the
// orders of jobs.
constexpr uint64_t kLeastOfAView = uint64_t{16} << 20;
constexpr uint64_t kLeastWithoutRecords =
    PrefetchedFiles::kLeastMemory + (uint64_t{2} << 20);
constexpr uint64_t kMostByDefault = uint64_t{4} << 30;
// Reads of a few KiB at a time that a network answers together. A disk's head
// gains nothing from so many, and an urgent read would wait for all of them.
constexpr size_t kDepthOfNetwork = 64;

// Returns the memory that each sample's files take in the pool.
std::vector<uint64_t> Footprints(const Dataset& dataset) {
  const Grouping& grouping = dataset.grouping();
  std::vector<uint64_t> bytes(grouping.sample_count());
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    for (uint32_t i = 0; i < group.samples; ++i) {
      for (uint32_t c = 0; c < group.columns; ++c) {
        const EntryId file = grouping.member(GroupId(g), i, c);
        bytes[group.first_sample + i] +=
            Arena::Footprint(dataset.catalogue().attributes(file).size);
      }
    }
  }
  return bytes;
}

// The samples that the pool of records answers.
std::vector<SampleId> ContainersIn(const Dataset& dataset,
                                   const ViewRecords& records) {
  std::vector<SampleId> samples;
  for (const EntryId file : records.containers->files()) {
    if (!dataset.grouping().place(file)) continue;
    samples.push_back(dataset.grouping().sample(file));
  }
  return samples;
}

// What reads plain files ahead leaves to the pool of records. Empty: nothing.
std::function<bool(EntryId)> LeftOut(const PlainFiles& files) {
  if (files.containers == nullptr) return nullptr;
  return [containers = files.containers](EntryId file) {
    return containers->Covers(file);
  };
}

struct ChunkNeeds {
  absl::Span<const uint64_t> bytes;  // by sample
  uint64_t memory_bytes = 0;         // of the pool
  uint32_t files = 0;                // at most, per chunk
  PoolFacet::Chunks asked = PoolFacet::Chunks::kAuto;
};

// Makes the chunks. If the order of reads does not matter, chunks are random,
// because this mixes best. On a disk that seeks, a chunk has what is close
// together.
absl::StatusOr<PhysicalChunks> ChunksFor(const DeviceProbe& probe,
                                         DeviceAddressFinder& places,
                                         const Dataset& dataset,
                                         ChunkNeeds needs) {
  using Chunks = PoolFacet::Chunks;
  const Grouping& grouping = dataset.grouping();
  const bool as_asked = needs.asked != Chunks::kAuto;
  const bool together =
      as_asked ? needs.asked == Chunks::kPhysical : Seeks(probe);
  PhysicalChunks chunks;
  if (!together) {
    chunks.chunks = ComposeMixedChunks(grouping, dataset.key(), needs.files);
    chunks.how = absl::StrCat("chunks of ", needs.files, " files at random");
  } else {
    ASSIGN_OR_RETURN(DeviceLayout layout, places.Find(dataset));
    PhysicalChunkOptions options;
    options.memory_bytes = needs.memory_bytes;
    options.files_per_chunk = needs.files;
    chunks =
        ComposePhysicalChunks(grouping, layout.addresses, needs.bytes, options);
  }
  chunks.how = absl::StrCat(
      chunks.how, as_asked ? ", as asked, on " : ", because ", probe.line);
  return chunks;
}

bool ViewsShareNames(const MountConfig& config, PolicyTable policies) {
  return std::any_of(config.views.begin(), config.views.end(),
                     [policies](const ViewConfig& view) {
                       const auto policy = MakePolicy(policies, view.policy,
                                                      view.policy_options);
                       return policy.ok() && (*policy)->shares_names() &&
                              view.substitute != Substitute::kNever;
                     });
}

// Whether no view binds names by what is in memory.
bool OrdersAreKnown(const MountConfig& config, PolicyTable policies) {
  return std::all_of(config.views.begin(), config.views.end(),
                     [policies](const ViewConfig& view) {
                       const auto policy = MakePolicy(policies, view.policy,
                                                      view.policy_options);
                       return policy.ok() && (*policy)->consumption() !=
                                                 Consumption::kReactive;
                     });
}

}  // namespace

// A pack from which a pool reads.
struct ProducerFactory::Pack {
  // The source of the pool, and each read that is under way, share the staging.
  bool idle() const { return staging.use_count() == 1; }

  SourceDir dir;
  std::shared_ptr<Arena> staging;       // pinned by the reader
  std::unique_ptr<PoolShare> reserved;  // for the staging
  std::unique_ptr<FileReader> reader;
};

ProducerFactory::ProducerFactory(const Parts& parts) : parts_(parts) {}

uint64_t ProducerFactory::GivePeers(
    const MountConfig& config, PolicyTable policies, uint64_t pool_bytes,
    absl::FunctionRef<bool()> may_have_records) {
  const uint64_t bytes = PeersBytes(config, policies, pool_bytes);
  const uint64_t most = PeersBytes(config, policies, pool_bytes, false);
  if (bytes == most || may_have_records()) return bytes;
  parts_.memory.guarantee = MemoryOfAView(config, policies, false);
  return most;
}

ProducerFactory::~ProducerFactory() = default;

uint64_t DefaultMemory() {
  return std::min(MachineMemoryBytes() / 4, kMostByDefault);
}

uint64_t Memory(const MountConfig& config) {
  return config.memory != 0 ? config.memory : DefaultMemory();
}

// Views need memory only for what is on its way to their readers. The rest is
// for the dataset, which is spread over all members. If the members share the
// names of a view, its pool has its part of the dataset.
uint64_t PeersBytes(const MountConfig& config, PolicyTable policies,
                    uint64_t pool_bytes, bool may_have_records) {
  if (config.peers.members.empty()) return 0;
  if (ViewsShareNames(config, policies)) {
    return pool_bytes / 16 / Arena::kPage * Arena::kPage;
  }
  const uint64_t of_a_view =
      !may_have_records && OrdersAreKnown(config, policies)
          ? kLeastWithoutRecords
          : kLeastOfAView;
  const uint64_t least =
      std::min(pool_bytes / 2, of_a_view * config.views.size());
  const uint64_t for_views = std::max(pool_bytes / 16, least);
  return (pool_bytes - for_views) / Arena::kPage * Arena::kPage;
}

SampleProducerMaker ProducerFactory::maker() {
  return
      [this](const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
             const Policy& policy, const ViewRecords& records) {
        return Make(config, std::move(dataset), policy, records);
      };
}

ReadAheadMaker ProducerFactory::ahead_maker() {
  return
      [this](std::shared_ptr<const Dataset> dataset, const PlainFiles& files) {
        return MakeAhead(std::move(dataset), files);
      };
}

NamePredictorMaker ProducerFactory::predictor_maker(uint64_t most) {
  return [this, most = std::min(most, kMostNamesAhead)](
             std::shared_ptr<const Dataset> dataset,
             std::function<void(const std::vector<SampleId>&)> ask)
             -> std::shared_ptr<NamePredictor> {
    if (most < 2) return nullptr;
    return std::make_shared<NamePredictor>(
        NamePredictor::Parts{.dataset = std::move(dataset),
                             .job_tracker = parts_.job_tracker,
                             .most = most,
                             .ask = std::move(ask)});
  };
}

SamplerPrefetcherMaker ProducerFactory::prefetcher_maker() {
  return [this](const PrefetchFacet& requests,
                std::shared_ptr<const Dataset> dataset, const PlainFiles& files,
                bool read_before) {
    return MakeSamplerPrefetcher(requests, std::move(dataset), files,
                                 read_before);
  };
}

absl::StatusOr<absl::optional<ProducerFactory::SlowSource>>
ProducerFactory::SlowSourceOf(const std::shared_ptr<const Dataset>& dataset,
                              const PlainFiles& files, bool in_batches) {
  SlowSource slow;
  slow.memory = parts_.memory;
  if (files.containers != nullptr) {
    slow.memory.guarantee =
        MemoryOfPlainFiles(slow.memory.guarantee, files.bytes);
  }
  if (slow.memory.guarantee < PrefetchedFiles::kLeastMemory)
    return absl::nullopt;
  const DeviceProbe probe =
      parts_.devices->Find(dataset->catalogue(), dataset->root());
  if (!Seeks(probe) && probe.device != DeviceKind::kLatencyBound) {
    return absl::nullopt;
  }
  if (Seeks(probe)) {
    ASSIGN_OR_RETURN(DeviceLayout layout, parts_.places->Find(*dataset));
    slow.addresses = std::move(layout.addresses);
  }
  slow.line = probe.line;
  slow.source = std::make_unique<FileSource>(dataset->shared_catalogue(),
                                             in_batches || !Seeks(probe)
                                                 ? SourceReader(probe)
                                                 : Reader(ReaderKind::kPlain));
  return slow;
}

absl::StatusOr<std::shared_ptr<SamplerPrefetcher>>
ProducerFactory::MakeSamplerPrefetcher(const PrefetchFacet& requests,
                                       std::shared_ptr<const Dataset> dataset,
                                       const PlainFiles& files,
                                       bool read_before) {
  ASSIGN_OR_RETURN(absl::optional<SlowSource> slow,
                   SlowSourceOf(dataset, files, /*in_batches=*/false));
  if (!slow) return nullptr;
  SamplerPrefetcher::Parts parts;
  parts.memory = std::move(slow->memory);
  parts.addresses = std::move(slow->addresses);
  parts.how = absl::StrCat(
      "what readers are going to open is read ahead, because ", slow->line);
  parts.source = std::move(slow->source);
  parts.dataset = std::move(dataset);
  parts.leaves_out = LeftOut(files);
  parts.seeds = requests.seeds;
  parts.search_cores = requests.search_cores;
  parts.job_tracker = parts_.job_tracker;
  parts.cached = parts_.cached;
  parts.read_before = read_before;
  parts.stall = parts_.stall;
  ASSIGN_OR_RETURN(std::shared_ptr<SamplerPrefetcher> prefetcher,
                   SamplerPrefetcher::Make(std::move(parts)));
  MutexLock lock(mu_);
  std::erase_if(prefetchers_, [](const auto& made) { return made.expired(); });
  prefetchers_.push_back(prefetcher);
  return prefetcher;
}

absl::StatusOr<std::shared_ptr<ReadAhead>> ProducerFactory::MakeAhead(
    std::shared_ptr<const Dataset> dataset, const PlainFiles& files) {
  // If all fits into memory, the kernel keeps what was read once.
  if (TotalsBelow(dataset->catalogue(), dataset->root()).bytes <=
      MachineMemoryBytes()) {
    return nullptr;
  }
  ASSIGN_OR_RETURN(absl::optional<SlowSource> slow,
                   SlowSourceOf(dataset, files, /*in_batches=*/true));
  if (!slow) return nullptr;
  ReadAhead::Parts parts;
  parts.leaves_out = LeftOut(files);
  parts.memory = std::move(slow->memory);
  parts.addresses = std::move(slow->addresses);
  parts.how = absl::StrCat("orders that are known are read ahead, because ",
                           slow->line);
  parts.source = std::move(slow->source);
  parts.dataset = std::move(dataset);
  parts.stall = parts_.stall;
  return ReadAhead::Make(std::move(parts));
}

void ProducerFactory::Stop() {
  std::array<std::unique_ptr<FileReader>, kReaderKinds> readers;
  std::vector<std::unique_ptr<Pack>> packs;
  std::vector<std::weak_ptr<SamplerPrefetcher>> prefetchers;
  {
    MutexLock lock(mu_);
    prefetchers.swap(prefetchers_);
  }
  // Each prefetcher requests reads on a thread of its own.
  for (const std::weak_ptr<SamplerPrefetcher>& made : prefetchers) {
    if (const std::shared_ptr<SamplerPrefetcher> prefetcher = made.lock()) {
      prefetcher->Stop();
    }
  }
  {
    MutexLock lock(mu_);
    readers.swap(readers_);
    packs.swap(packs_);
  }
  // They are destroyed with no lock held, because their answers may cause more
  // requests.
}

FileReader* ProducerFactory::SourceReader(const DeviceProbe& probe) {
  if (Seeks(probe)) return Reader(ReaderKind::kInBatches);
  return Reader(probe.device == DeviceKind::kLatencyBound ? ReaderKind::kDeep
                                                          : ReaderKind::kPlain);
}

FileReader* ProducerFactory::Reader(ReaderKind kind) {
  FileReaderOptions options;
  options.batch_by_batch = kind == ReaderKind::kInBatches;
  if (kind == ReaderKind::kDeep) options.depth = kDepthOfNetwork;
  MutexLock lock(mu_);
  std::unique_ptr<FileReader>& reader = readers_[static_cast<size_t>(kind)];
  if (reader == nullptr) {
    reader = MakeFileReaderBy(parts_.make_reader, *parts_.source, options);
  }
  return reader.get();
}

absl::Status ProducerFactory::TakeFiles(const PoolFacet& pool,
                                        const Dataset& dataset,
                                        SampleProducer::Parts& parts,
                                        BinderInput& input) {
  const DeviceProbe probe =
      parts_.devices->Find(dataset.catalogue(), dataset.root());
  ChunkNeeds needs;
  needs.bytes = input.bytes;
  needs.memory_bytes = input.memory_bytes;
  needs.files = pool.chunk_files;
  needs.asked = pool.chunks;
  ASSIGN_OR_RETURN(PhysicalChunks chunks,
                   ChunksFor(probe, *parts_.places, dataset, needs));
  input.chunks = std::move(chunks.chunks);
  parts.how = std::move(chunks.how);
  parts.device_order =
      Seeks(probe) && needs.asked != PoolFacet::Chunks::kRandom;
  parts.source = std::make_unique<FileSource>(dataset.shared_catalogue(),
                                              SourceReader(probe));
  return absl::OkStatus();
}

// Samples come from the tier, one at a time. If the source seeks, they are
// copied there in device order.
absl::Status ProducerFactory::TakeTier(TierMaker::Wants wants,
                                       SampleProducer::Parts& parts,
                                       BinderInput& input) {
  if (parts_.tiers == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("policy = ", wants.policy->name(), " needs a mount"));
  }
  const Dataset& dataset = *wants.dataset;
  const DeviceProbe probe =
      parts_.devices->Find(dataset.catalogue(), dataset.root());
  wants.source = {SourceReader(probe), Seeks(probe)};
  RETURN_IF_ERROR(parts_.tiers->Fill(wants, parts, input));
  if (!Seeks(probe)) return absl::OkStatus();
  ASSIGN_OR_RETURN(DeviceLayout layout, parts_.places->Find(dataset));
  parts.sets.addresses = std::move(layout.addresses);
  return absl::OkStatus();
}

void ProducerFactory::DropIdlePacks() {
  std::vector<std::unique_ptr<Pack>> idle;
  {
    MutexLock lock(mu_);
    const auto first =
        std::partition(packs_.begin(), packs_.end(),
                       [](const auto& pack) { return !pack->idle(); });
    idle.assign(std::make_move_iterator(first),
                std::make_move_iterator(packs_.end()));
    packs_.erase(first, packs_.end());
  }
  // What the last user did comes before: use_count() alone does not say so.
  std::atomic_thread_fence(std::memory_order_acquire);
  // They are destroyed with no lock held, because this waits for threads.
}

absl::Status ProducerFactory::TakePack(const PoolFacet& pool,
                                       const Dataset& dataset,
                                       SampleProducer::Parts& parts,
                                       BinderInput& input) {
  const std::string& path = pool.packed;
  absl::StatusOr<SourceDir> dir =
      OpenPackDir(path, Reached(parts_.reach, path), *parts_.source);
  if (!dir.ok()) return Annotate(dir.status(), pool.packed_key);
  auto pack = std::make_unique<Pack>(Pack{*std::move(dir), {}, {}, {}});
  ASSIGN_OR_RETURN(std::shared_ptr<const PackIndex> index,
                   PackIndex::Open(pack->dir, dataset.shared_catalogue()));
  absl::StatusOr<ChunkList> chunks = ChunksOfPack(*index, dataset.grouping());
  if (!chunks.ok()) return Annotate(chunks.status(), pool.packed_key);
  input.chunks = *std::move(chunks);
  // The files in its directory serve to measure the device.
  ASSIGN_OR_RETURN(Catalogue files, Scan(pack->dir, ScanOptions{}));
  const DeviceProbe probe = ProbeDevice(pack->dir, files, ProbeOptions{});
  parts.how = absl::StrCat(index->chunk_count(), " chunks of the pack ", path,
                           ", on ", probe.line);
  const uint64_t staging =
      std::clamp(parts.memory.guarantee / kStagingPart,
                 PackedSource::kLeastStaging, PackedSource::kMostStaging);
  ASSIGN_OR_RETURN(pack->reserved, parts.memory.Reserve(staging));
  ASSIGN_OR_RETURN(pack->staging, Arena::Make(staging));
  input.memory_bytes = parts.memory.guarantee;
  FileReaderOptions reader_options;
  reader_options.memory = pack->staging->memory();
  pack->reader = MakeFileReader(pack->dir, reader_options);
  PackedSource::Options options;
  options.staging = pack->staging;
  options.place_by_place = Seeks(probe);
  ASSIGN_OR_RETURN(parts.source, PackedSource::Make(index, pack->reader.get(),
                                                    std::move(options)));
  MutexLock lock(mu_);
  packs_.push_back(std::move(pack));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<SampleProducer>> ProducerFactory::Make(
    const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
    const Policy& policy, const ViewRecords& records) {
  DropIdlePacks();
  const uint64_t pools = records.producer != nullptr ? 2 : 1;
  SampleProducer::Parts parts;
  parts.memory = MemoryOf(parts_.memory, config, pools);
  if (parts.memory.guarantee < SampleProducer::kLeastMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: policy = ", policy.name(), " needs at least ",
                     (MemoryFor(pools * SampleProducer::kLeastMemory,
                                parts_.config->views.size()) +
                      0xfffff) >>
                         20,  // rounded up
                     "MiB"));
  }
  auto input = std::make_unique<BinderInput>();
  input->grouping = &dataset->grouping();
  input->bytes = Footprints(*dataset);
  input->dataset_key = dataset->key();
  input->memory_bytes = parts.memory.guarantee;
  const PoolFacet* const pool = policy.pool();
  const TierMaker::Wants wants{&config, dataset.get(), &policy, {}};
  if (policy.stages()) {
    RETURN_IF_ERROR(TakeTier(wants, parts, *input));
  } else if (pool == nullptr || pool->chunk_files == 0) {
    parts.how = "what is read first stays";
    parts.source = std::make_unique<FileSource>(dataset->shared_catalogue(),
                                                Reader(ReaderKind::kPlain));
  } else if (pool->packed.empty()) {
    RETURN_IF_ERROR(TakeFiles(*pool, *dataset, parts, *input));
  } else {
    RETURN_IF_ERROR(TakePack(*pool, *dataset, parts, *input));
  }
  if (records.producer != nullptr) {
    // Larger than the memory: names show them, and nothing fetches them.
    for (const SampleId sample : ContainersIn(*dataset, records)) {
      input->bytes[sample.value()] = input->memory_bytes + 1;
    }
  }
  parts.binder = policy.stages() && config.layout == Layout::kRanked
                     ? policy.staging()->MakeRankBinder(*input)
                     : policy.MakeBinder(*input);
  parts.stall = parts_.stall;
  parts.input = std::move(input);
  parts.dataset = std::move(dataset);
  ASSIGN_OR_RETURN(std::shared_ptr<SampleProducer> producer,
                   SampleProducer::Make(std::move(parts)));
  if (policy.stages()) parts_.tiers->Follow(wants, producer);
  return producer;
}

}  // namespace shufflefs
