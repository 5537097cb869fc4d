// SPDX-License-Identifier: Apache-2.0
// Makes what a view needs to shuffle records: which of its files are
// containers, the memory, and the threads that index them.
#ifndef SHUFFLEFS_CORE_ENGINE_RECORDS_MAKER_H_
#define SHUFFLEFS_CORE_ENGINE_RECORDS_MAKER_H_

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/config/config.h"
#include "core/engine/device_finder.h"
#include "core/engine/supply_maker.h"
#include "core/engine/tier_maker.h"
#include "core/records/containers/container_set.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// The container files of a view. Those below another view inside of it are of
// that view. Sets `inside` of the options. Errors: InvalidArgument naming the
// key.
absl::StatusOr<std::shared_ptr<ContainerSet>> ContainersOf(
    const MountConfig& mount, const ViewConfig& view,
    std::shared_ptr<const Dataset> dataset, ContainerSetOptions options = {});

// What the manifests of a view say. Reads them.
std::shared_ptr<const PaddedDirs> PaddedOf(const SourceDir& source,
                                           const Dataset& dataset);

// Thread-safe. Owns the threads that index ("sfs-records") and those that
// plan what the pools read ("sfs-plan").
class RecordsFactory {
 public:
  struct Parts {
    const MountConfig* config = nullptr;  // these outlive the factory
    const SourceDir* source = nullptr;
    DeviceFinder* devices = nullptr;
    SupplyFactory* supplies = nullptr;  // whose reader of the source is used
    TierMaker* tiers = nullptr;         // null: no policy that stages can run
    PoolMemory memory;                  // of each view; without a name
    StallClock* stall = nullptr;
    absl::optional<OwnedDir> state;  // indexes are saved in it
  };
  explicit RecordsFactory(const Parts& parts) : parts_(parts) {}
  ~RecordsFactory() { Stop(); }

  // Outlived by the factory.
  RecordsMaker maker();
  // Ends indexing. Waits for a read of the source.
  void Stop();

 private:
  absl::StatusOr<ViewRecords> Make(const ViewConfig& config,
                                   std::shared_ptr<const Dataset> dataset,
                                   const Policy& policy);
  // Where indexes are kept; nothing, and a line in the log, if that fails.
  absl::optional<OwnedDir> Saved() const;
  // What reads the containers, and the tier of a policy that stages. Takes the
  // memory of copies from the pool's.
  absl::Status TakeSource(const ViewConfig& config, const Dataset& dataset,
                          const Policy& policy, RecordPool::Parts& pool,
                          ViewRecords& records);

  // Constant after construction.
  const Parts parts_;

  // Self-synchronised.
  // Two: the plan of a large window keeps nobody else waiting.
  Worker worker_{"sfs-plan", 2};

  Mutex mu_;
  std::vector<std::jthread> indexers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_RECORDS_MAKER_H_
