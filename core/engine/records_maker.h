// SPDX-License-Identifier: Apache-2.0
// RecordsFactory makes what a view needs to shuffle records: the set of its
// container files, the memory, and the threads that index them.
#ifndef SHUFFLEFS_CORE_ENGINE_RECORDS_MAKER_H_
#define SHUFFLEFS_CORE_ENGINE_RECORDS_MAKER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/base/metrics.h"
#include "core/config/config.h"
#include "core/engine/device_finder.h"
#include "core/engine/producer_factory.h"
#include "core/engine/tier_maker.h"
#include "core/records/containers/container_set.h"
#include "core/records/containers/task_threads.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Returns the container files of a view. Files below another view inside it
// belong to that view. Sets `inside` of the options. Errors: InvalidArgument
// naming the key.
absl::StatusOr<std::shared_ptr<ContainerSet>> ContainersOf(
    const MountConfig& mount, const ViewConfig& view,
    std::shared_ptr<const Dataset> dataset, ContainerSetOptions options = {});

// Returns false if it is certain that no view of the mount has containers.
bool MayHaveContainers(const MountConfig& mount, const SourceDir& source,
                       const std::shared_ptr<const Catalogue>& catalogue);

// Reads the manifests of a view and returns their contents.
std::shared_ptr<const PaddedDirs> PaddedOf(const SourceDir& source,
                                           const Dataset& dataset);

// Thread-safe. Owns the threads that index ("sfs-records") and those that plan
// what the pools read ("sfs-plan").
class RecordsFactory {
 public:
  struct Parts {
    const MountConfig* config = nullptr;  // these outlive the factory
    const SourceDir* source = nullptr;
    DeviceFinder* devices = nullptr;
    ProducerFactory* producers = nullptr;  // gives the reader of the source
    TierMaker* tiers = nullptr;  // null: no policy that stages can run
    PoolMemory memory;           // per view; without a name
    StallClock* stall = nullptr;
    absl::optional<OwnedDir> state;  // keeps the indexes
  };
  explicit RecordsFactory(const Parts& parts) : parts_(parts) {}
  ~RecordsFactory() { Stop(); }

  // The factory outlives the results.
  ContainersMaker finder();
  RecordsMaker maker();
  // Stops indexing. Blocks until a read of the source has ended.
  void Stop();

 private:
  absl::StatusOr<std::shared_ptr<ContainerSet>> Find(
      const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
      const Policy& policy);
  absl::StatusOr<ViewRecords> Make(const ViewConfig& config,
                                   const Dataset& dataset, const Policy& policy,
                                   const WantedRecords& wanted);
  // The memory of the records. Empty if there is too little beside a producer.
  absl::optional<PoolMemory> MemoryOfRecords(const ViewConfig& config,
                                             const WantedRecords& wanted) const;
  // Begins to find the records, unless that was begun before.
  void Index(const std::shared_ptr<ContainerSet>& containers);
  // Returns the directory for indexes. If it cannot be made, logs a line and
  // returns nothing.
  absl::optional<OwnedDir> Saved() const;
  // Fills in the source of the containers, and the tier of a policy that
  // stages. Takes the memory of copies from the pool's.
  absl::Status TakeSource(const ViewConfig& config, const Dataset& dataset,
                          const Policy& policy, RecordProducer::Parts& pool,
                          ViewRecords& records);

  // Constant after construction.
  const Parts parts_;

  // Self-synchronised.
  // Two threads, so that the plan of a large window delays no other.
  Worker worker_{"sfs-plan", 2};
  TaskThreads indexers_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_RECORDS_MAKER_H_
