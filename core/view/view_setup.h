// SPDX-License-Identifier: Apache-2.0
// All of a view that a configuration decides: its dataset, its policy and its
// ranked names. Prepared as a whole, so that a policy switch either works or
// changes nothing, and installed at an epoch boundary.
#ifndef SHUFFLEFS_CORE_VIEW_VIEW_SETUP_H_
#define SHUFFLEFS_CORE_VIEW_VIEW_SETUP_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/binding/ranked_names.h"
#include "core/config/config.h"
#include "core/dataset/dataset.h"
#include "core/policy/policy_entry.h"
#include "core/pool/read_ahead.h"
#include "core/pool/supply.h"
#include "core/records/containers/container_set.h"
#include "core/records/content/record_pool.h"
#include "core/records/epoch/record_staging.h"
#include "core/source/physical.h"
#include "core/source/source_dir.h"
#include "core/staging/tier_status.h"

namespace shufflefs {

class Foresight;  // core/sampler/foresight.h

struct ResolvedPolicy {
  std::shared_ptr<const Policy> policy;  // never "auto"
  std::string why;                       // one line for `status`
  std::string device;                    // what was measured, "" if nothing was
};

// Turns the policy that a configuration names, `auto` too, into one that
// runs. May measure the device. Errors: InvalidArgument naming the key.
using PolicyResolver = std::function<absl::StatusOr<ResolvedPolicy>(
    const ViewConfig& config, const Dataset& dataset)>;

// Makes the supply of a reactive policy's view. May measure the device and ask
// where samples lie on it. Errors: InvalidArgument naming the key.
using SupplyMaker = std::function<absl::StatusOr<std::shared_ptr<Supply>>(
    const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
    const Policy& policy)>;

// Makes what reads ahead along a planned policy's orders; null where that
// would gain nothing. May measure the device and ask where samples lie on it.
using ReadAheadMaker = std::function<absl::StatusOr<std::shared_ptr<ReadAhead>>(
    std::shared_ptr<const Dataset> dataset)>;

// Makes what finds out what readers are going to open; null where reading ahead
// would gain nothing. May measure the device and ask where samples lie on it.
using ForesightMaker = std::function<absl::StatusOr<std::shared_ptr<Foresight>>(
    const PrefetchFacet& wishes, std::shared_ptr<const Dataset> dataset)>;

// The containers of a view, and the memory in which their files are made.
struct ViewRecords {
  std::shared_ptr<ContainerSet> containers;
  std::shared_ptr<RecordPool> pool;
  // Of a policy that stages: what is to be in the faster tier, and that tier;
  // null and empty without.
  std::shared_ptr<RecordStaging> staging;
  std::function<TierStatus()> tier;
};

// Makes them; null pointers where nothing of the view looks like a container;
// no pool where all that do are left untouched. Where the policy leaves records
// where they are, the containers are those alone that are padded. Begins to
// index behind the call. May measure the device. Errors: InvalidArgument naming
// the key.
using RecordsMaker = std::function<absl::StatusOr<ViewRecords>(
    const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
    const Policy& policy)>;

// Finds where the first file of each sample lies, by SampleId. May ask the
// source for each.
using AddressFinder =
    std::function<absl::StatusOr<DeviceLayout>(const Dataset& dataset)>;

// Asks the source each time; what `options.known` holds, not again.
absl::StatusOr<DeviceLayout> SampleAddresses(const SourceDir& source,
                                             const Dataset& dataset,
                                             const PhysicalOptions& options);

// What a setup is made with.
struct SetupTools {
  PolicyTable policies;  // outlives what is made
  PolicyResolver resolver;
  AddressFinder addresses;  // for policies by blocks
  // Empty: nothing is mounted, and names show what the plan says.
  SupplyMaker supply;
  ReadAheadMaker ahead;
  ForesightMaker foresight;
  RecordsMaker records;
};

struct ViewSetup {
  ViewConfig config;
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const RankedNames> ranked;
  std::shared_ptr<const Policy> policy;
  std::string why;
  std::string device;         // what is known of it, "" when nobody asked
  uint64_t options_hash = 0;  // OptionsHash(config, …)
  // Not null where names are bound as they are asked for, or memory keeps what
  // was read.
  std::shared_ptr<Supply> supply;
  // Not null where orders that are known in advance are read ahead.
  std::shared_ptr<ReadAhead> ahead;
  // Not null where orders are found out and read ahead; then names are the
  // source's.
  std::shared_ptr<Foresight> foresight;

  // Not null where records inside of containers are shuffled, or padding
  // between them is not shown.
  ViewRecords records;

  // What answers reads of samples; null: the source does.
  std::shared_ptr<SampleMemory> memory() const;
  bool binds_on_demand() const { return supply != nullptr && rebinds(); }
  // And an epoch may show a sample under several names, or none.
  bool repeats() const { return binds_on_demand() && supply->repeats(); }
  // Whether samples of ranked names come from a faster tier.
  bool stages_ranks() const {
    return config.layout == Layout::kRanked && policy->stages();
  }
  // Whether what a name shows depends on the epoch.
  bool rebinds() const {
    return dataset->moves() && config.layout == Layout::kTree &&
           policy->consumption() != Consumption::kSource;
  }
};

// Tells configurations apart that bind names differently beside the policy's
// name, the seed and `substitute`. Ledgers keep it: for the same values it is
// the same in every version.
uint64_t OptionsHash(const ViewConfig& config, PolicyTable policies);

// Prepares a setup. Reads the groups file and, for policies by blocks, asks
// the source for the device addresses of all samples, so this may take
// seconds; call it from no thread that serves readers' requests but that of
// a control write. `reuse` (may be null) gives its dataset to the new setup
// when the keys that decide the dataset are the same.
absl::StatusOr<std::shared_ptr<const ViewSetup>> MakeViewSetup(
    const ViewConfig& config, std::shared_ptr<const Catalogue> catalogue,
    const SetupTools& tools, const ViewSetup* reuse);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_VIEW_SETUP_H_
