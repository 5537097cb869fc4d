// SPDX-License-Identifier: Apache-2.0
// ProducerFactory makes the producers of views. It decides how much memory each
// has and which samples are read together, and owns the readers of their bytes.
#ifndef SHUFFLEFS_CORE_ENGINE_PRODUCER_FACTORY_H_
#define SHUFFLEFS_CORE_ENGINE_PRODUCER_FACTORY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "core/base/files/reach.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/config/config.h"
#include "core/engine/device_address_finder.h"
#include "core/engine/device_finder.h"
#include "core/engine/tier_maker.h"
#include "core/io/file_reader.h"
#include "core/io/make_reader.h"
#include "core/pool/pool_memory.h"
#include "core/readers/job_tracker.h"
#include "core/sampler/cached_finder.h"
#include "core/source/device_probe.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Names that a job looks up next, for which nodes are asked. More would bind
// them long before they are read.
inline constexpr uint64_t kMostNamesAhead = 64;

// Returns the default of `memory`: a quarter of the memory of the machine or
// the control group, at most 4 GiB.
uint64_t DefaultMemory();
// Returns the key `memory`, or its default.
uint64_t Memory(const MountConfig& config);
// Returns the bytes of a pool of `pool_bytes` that are guaranteed to parts of
// files that this daemon keeps for all members. 0 without `peers`. Views have
// the rest. They need less if it is known that they have no records.
uint64_t PeersBytes(const MountConfig& config, PolicyTable policies,
                    uint64_t pool_bytes, bool may_have_records = true);
// Returns the bytes of `memory` that each view is guaranteed.
uint64_t MemoryOfAView(const MountConfig& config, PolicyTable policies,
                       bool may_have_records = true);
// Returns `memory` as one of `pools` pools of the view gets it.
PoolMemory MemoryOf(PoolMemory memory, const ViewConfig& view, uint64_t pools);
// Returns how much of a view's guarantee is for reading ahead `plain_bytes`
// bytes of files beside its records. 0: too little is left for that.
uint64_t MemoryOfPlainFiles(uint64_t guarantee, uint64_t plain_bytes);
// Returns whether it pays to wait until reads are in device order.
inline bool Seeks(const DeviceProbe& probe) {
  return probe.device == DeviceKind::kSeekBound;
}

// Thread-safe. Owns the readers. Pools that want the source read in the same
// way share one reader (see Reader). Each pool of a pack has one of its own,
// until no pool uses it and the next pool is made. A reader is made when the
// first pool needs it.
class ProducerFactory {
 public:
  struct Parts {
    const MountConfig* config = nullptr;  // these outlive the factory
    const SourceDir* source = nullptr;
    ReaderMaker make_reader;  // of the source; empty: MakeFileReader
    DeviceFinder* devices = nullptr;
    DeviceAddressFinder* places = nullptr;
    PoolMemory memory;  // per view; without a name
    StallClock* stall = nullptr;
    TierMaker* tiers = nullptr;
    JobTracker* job_tracker = nullptr;
    CachedFinder cached;  // may be empty
    PathReach reach;      // opens packs; may be empty
  };
  explicit ProducerFactory(const Parts& parts);
  // Returns what PeersBytes says for these files. Views get the rest, so call
  // it before anything is made. `may_have_records` may take a while.
  uint64_t GivePeers(const MountConfig& config, PolicyTable policies,
                     uint64_t pool_bytes,
                     absl::FunctionRef<bool()> may_have_records);
  ~ProducerFactory();

  // The factory outlives the results.
  SampleProducerMaker maker();
  ReadAheadMaker ahead_maker();
  SamplerPrefetcherMaker prefetcher_maker();
  // `most`: for the samples of how many names there is memory.
  NamePredictorMaker predictor_maker(uint64_t most);
  // Returns the reader of the source that suits its device. The factory owns
  // it.
  FileReader* SourceReader(const DeviceProbe& probe);
  // Answers everybody who waits for a read. From then on nothing is read. Call
  // it before you destroy those who wait.
  void Stop();

 private:
  absl::StatusOr<std::shared_ptr<SampleProducer>> Make(
      const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
      const Policy& policy, const ViewRecords& records);
  // These fill in where samples come from, and in which chunks.
  absl::Status TakeFiles(const PoolFacet& pool, const Dataset& dataset,
                         SampleProducer::Parts& parts, BinderInput& input);
  absl::Status TakeTier(TierMaker::Wants wants, SampleProducer::Parts& parts,
                        BinderInput& input);
  absl::Status TakePack(const PoolFacet& pool, const Dataset& dataset,
                        SampleProducer::Parts& parts, BinderInput& input);
  // A source from which it pays to prefetch.
  struct SlowSource {
    PoolMemory memory;
    std::vector<uint64_t> addresses;  // by SampleId; empty: it does not seek
    std::string line;                 // what was measured
    std::unique_ptr<SampleSource> source;
  };
  // Returns nothing if the device answers at once, or if `memory` is too small.
  // `in_batches`: on a device that seeks, each Fetch starts after the one
  // before.
  absl::StatusOr<absl::optional<SlowSource>> SlowSourceOf(
      const std::shared_ptr<const Dataset>& dataset, const PlainFiles& files,
      bool in_batches);
  // Returns null if there is nothing to gain: memory holds the dataset, or as
  // above.
  absl::StatusOr<std::shared_ptr<ReadAhead>> MakeAhead(
      std::shared_ptr<const Dataset> dataset, const PlainFiles& files);
  // Returns null as above.
  absl::StatusOr<std::shared_ptr<SamplerPrefetcher>> MakeSamplerPrefetcher(
      const PrefetchFacet& requests, std::shared_ptr<const Dataset> dataset,
      const PlainFiles& files, bool read_before);
  // Destroys the readers of packs that no pool uses any more.
  void DropIdlePacks();
  // kInBatches is for devices that seek: FileReaderOptions::batch_by_batch.
  // kDeep is for those that answer many reads in the time of one.
  enum class ReaderKind { kPlain, kInBatches, kDeep };
  static constexpr size_t kReaderKinds = 3;
  FileReader* Reader(ReaderKind kind);

  // Constant after construction.
  Parts parts_;

  Mutex mu_;
  // By kind. Null until somebody needs it.
  std::array<std::unique_ptr<FileReader>, kReaderKinds> readers_
      ABSL_GUARDED_BY(mu_);
  struct Pack;
  std::vector<std::unique_ptr<Pack>> packs_ ABSL_GUARDED_BY(mu_);
  // All that were made. Some may be gone.
  std::vector<std::weak_ptr<SamplerPrefetcher>> prefetchers_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_PRODUCER_FACTORY_H_
