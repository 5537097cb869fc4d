// SPDX-License-Identifier: Apache-2.0
// Makes the pools of reactive views: decides how much memory each has, which
// samples are read together, and reads them.
#ifndef SHUFFLEFS_CORE_ENGINE_SUPPLY_MAKER_H_
#define SHUFFLEFS_CORE_ENGINE_SUPPLY_MAKER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/config/config.h"
#include "core/engine/device_finder.h"
#include "core/engine/place_finder.h"
#include "core/engine/tier_maker.h"
#include "core/io/file_reader.h"
#include "core/pool/pool_memory.h"
#include "core/readers/reader_family.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// What `memory` means when it is not given: a quarter of what the machine or
// the control group has, at most 4 GiB.
uint64_t DefaultMemory();
// The key `memory`, or what it means.
uint64_t Memory(const MountConfig& config);
// The bytes that each view is guaranteed of the key `memory`.
uint64_t MemoryOfAView(const MountConfig& config);
// `memory` as a pool of the view gets it.
PoolMemory MemoryOf(PoolMemory memory, const ViewConfig& view);
// Whether reads in the order in which bytes lie are worth waiting for.
bool Seeks(const DeviceProbe& probe);

// Thread-safe. Owns the readers: of the source one that all pools share which
// want to be read alike (see Reader), and one of each pack. A reader is made
// when the first pool needs it.
class SupplyFactory {
 public:
  struct Parts {
    const MountConfig* config = nullptr;  // these outlive the factory
    const SourceDir* source = nullptr;
    DeviceFinder* devices = nullptr;
    PlaceFinder* places = nullptr;
    PoolMemory memory;  // of each view; without a name
    StallClock* stall = nullptr;
    TierMaker* tiers = nullptr;
    ReaderFamilies* families = nullptr;
  };
  explicit SupplyFactory(const Parts& parts);
  ~SupplyFactory();

  // Outlived by the factory.
  SupplyMaker maker();
  ReadAheadMaker ahead_maker();
  ForesightMaker foresight_maker();
  // Of the source, as its device wants to be read. Owned by the factory.
  FileReader* SourceReader(const DeviceProbe& probe);
  // Answers everybody who waits for a read; from then on nothing is read. Call
  // before those who wait are gone.
  void Stop();

 private:
  absl::StatusOr<std::shared_ptr<Supply>> Make(
      const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
      const Policy& policy);
  // Fill in where samples come from, and in which chunks.
  absl::Status TakeFiles(const PoolFacet& pool, const Dataset& dataset,
                         Supply::Parts& parts, BinderInput& input);
  absl::Status TakeTier(TierMaker::Wants wants, Supply::Parts& parts,
                        BinderInput& input);
  absl::Status TakePack(const PoolFacet& pool, const Dataset& dataset,
                        Supply::Parts& parts, BinderInput& input);
  // A source from which it pays to read ahead; nothing where the device answers
  // at once, or `memory` is too small.
  struct SlowSource {
    PoolMemory memory;
    std::vector<uint64_t> addresses;  // by SampleId; empty: it does not seek
    std::string line;                 // what was measured
    std::unique_ptr<SampleSource> source;
  };
  // `in_batches`: on a device that seeks, each Fetch after the one before.
  absl::StatusOr<absl::optional<SlowSource>> SlowSourceOf(
      const std::shared_ptr<const Dataset>& dataset, bool in_batches);
  // Null where there is nothing to gain: memory holds the dataset, or as above.
  absl::StatusOr<std::shared_ptr<ReadAhead>> MakeAhead(
      std::shared_ptr<const Dataset> dataset);
  // Null as above.
  absl::StatusOr<std::shared_ptr<Foresight>> MakeForesight(
      const PrefetchFacet& wishes, std::shared_ptr<const Dataset> dataset);
  // Of the source. `in_batches`: FileReaderOptions::batch_by_batch.
  FileReader* Reader(bool in_batches);

  // Constant after construction.
  const Parts parts_;

  Mutex mu_;
  // By `in_batches`; null: nobody needed it.
  std::array<std::unique_ptr<FileReader>, 2> readers_ ABSL_GUARDED_BY(mu_);
  struct Pack;
  std::vector<std::unique_ptr<Pack>> packs_ ABSL_GUARDED_BY(mu_);
  // Those that were made, some of which are gone.
  std::vector<std::weak_ptr<Foresight>> foresights_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_SUPPLY_MAKER_H_
