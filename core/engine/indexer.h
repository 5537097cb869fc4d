// SPDX-License-Identifier: Apache-2.0
// Makes what a mount shows: the catalogue, saved or scanned, and the views.
#ifndef SHUFFLEFS_CORE_ENGINE_INDEXER_H_
#define SHUFFLEFS_CORE_ENGINE_INDEXER_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/config/config.h"
#include "core/engine/device_finder.h"
#include "core/engine/policy_set.h"
#include "core/engine/served_dataset.h"
#include "core/engine/state_dir.h"
#include "core/ledger/ledger.h"
#include "core/readers/reader_family.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct IndexerParts {
  const MountConfig* config = nullptr;
  const SourceDir* source = nullptr;
  const StateDir* state = nullptr;
  PolicySet policies;
  // What each view ran when a daemon ended before it could switch to its
  // configuration; one a view.
  const std::vector<absl::optional<ViewConfig>>* running = nullptr;
  Ledger* ledger = nullptr;
  ReaderFamilies* families = nullptr;
  std::shared_ptr<DeviceFinder> devices;
  AddressFinder addresses;
  JobNodes* nodes = nullptr;
  StallClock* stall = nullptr;
  SupplyMaker supply;
  ReadAheadMaker ahead;
  ForesightMaker foresight;
  RecordsMaker records;
  std::function<void(bool were_fixed)> rebound;
  std::function<void()> settled;
  std::function<void()> doubted;
  // Called now and then with the entries found so far.
  std::function<void(uint64_t entries)> progress;
};

struct FoundCatalogue {
  std::shared_ptr<const Catalogue> catalogue;
  bool was_saved = false;
};
// The saved catalogue if it still fits the source, else a new scan, which is
// saved. Blocks for the scan. A catalogue that cannot be saved is a log line.
absl::StatusOr<FoundCatalogue> GetCatalogue(const IndexerParts& parts,
                                            std::stop_token stop);

// The views over a catalogue. `something_was_read`: readers had files of the
// source before, so what moves waits for the next boundary. All parts outlive
// the dataset. Errors: as MakeViewSetup, naming the view.
absl::StatusOr<std::unique_ptr<ServedDataset>> MakeServed(
    const IndexerParts& parts, std::shared_ptr<const Catalogue> catalogue,
    bool something_was_read);

// For setups that nothing is read through. `source` outlives them.
SetupTools ToolsWithoutMount(const SourceDir& source,
                             const PolicySet& policies);

struct ResolverParts {
  PolicySet policies;
  std::shared_ptr<DeviceFinder> devices;
  uint64_t view_memory = 0;  // bytes that `memory` gives each view
  // Says which views lie inside of others; null: none. Outlives the resolver.
  const MountConfig* config = nullptr;
  OpenMode open = OpenMode::kAuto;
  // Says in the middle of which epoch the last mount ended; may be null.
  const Ledger* ledger = nullptr;
};

// Resolves policies by name, and `auto` by looking at the dataset, the
// machine's memory and the device.
PolicyResolver MakeResolver(const ResolverParts& parts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_INDEXER_H_
