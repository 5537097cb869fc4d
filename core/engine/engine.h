// SPDX-License-Identifier: Apache-2.0
// All that serves a dataset, made from a configuration: a mount, a program of
// one's own and tests use it alike. It knows no FUSE, no TOML and no command
// line, and no policy but those that it is given.
//
//   ASSIGN_OR_RETURN(auto engine, Engine::Make(std::move(parts)));
//   ASSIGN_OR_RETURN(const ServedDataset* served, engine->Load({}));
//   … served->views(), served->plain() …
//   engine->Stop();
//
// examples/engine_read.cc is a whole program.
#ifndef SHUFFLEFS_CORE_ENGINE_ENGINE_H_
#define SHUFFLEFS_CORE_ENGINE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/metrics.h"
#include "core/config/config.h"
#include "core/engine/device_finder.h"
#include "core/engine/learnt_factors.h"
#include "core/engine/place_finder.h"
#include "core/engine/policy_set.h"
#include "core/engine/records_maker.h"
#include "core/engine/served_dataset.h"
#include "core/engine/state_dir.h"
#include "core/engine/supply_maker.h"
#include "core/engine/tier_maker.h"
#include "core/ledger/ledger.h"
#include "core/pool/buffer_pool.h"
#include "core/pool/lone_reads.h"
#include "core/pool/pool_memory.h"
#include "core/readers/job_nodes.h"
#include "core/readers/reader_family.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Thread-safe, but for Load and FindChangedRights, which one thread calls, and
// Stop, which comes after them.
class Engine {
 public:
  // How who shows the names hears that some are bound anew: as View::Parts has
  // them. Nobody need listen.
  struct Hooks {
    std::function<void(bool were_fixed)> rebound = [](bool) {};
    std::function<void()> settled;
    std::function<void()> doubted;
  };
  struct Parts {
    MountConfig config;  // at least one view
    SourceDir source;    // of config.source
    PolicySet policies;
    // Where catalogue, ledger, indexes and the like are kept; outlives the
    // engine. Null: nothing is, and no epoch is gone on with.
    const StateDir* state = nullptr;
    // What each view ran when a process ended before it could switch to its
    // configuration; empty, or one a view.
    std::vector<absl::optional<ViewConfig>> running;
    Hooks hooks;
  };

  // Opens the ledger. Errors: those of Ledger::Open.
  static absl::StatusOr<std::unique_ptr<Engine>> Make(Parts parts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  struct LoadOptions {
    std::stop_token stop;
    // Called now and then with the entries found so far; may be empty.
    std::function<void(uint64_t entries)> progress;
    // Asked once the catalogue is there: whether readers had files of the
    // source before, so that what moves waits for the next boundary. Empty: no.
    std::function<bool()> something_was_read;
  };
  // The views: over the saved catalogue if it still fits the source, else over
  // a new one. Call once. Blocks for the scan, and while devices are measured.
  // Errors: those of Scan, and of MakeViewSetup, naming the view. What it
  // returns lives as long as the engine.
  absl::StatusOr<const ServedDataset*> Load(const LoadOptions& options);
  // Null until it is loaded.
  const ServedDataset* served() const {
    return served_.load(std::memory_order_acquire);
  }

  // Of many files a saved catalogue is believed: to ask for each takes as long
  // as a scan. This asks, after Load and on the thread that loaded: what
  // changed, if anything. Then the next run scans again. What was closed
  // meanwhile nobody is given (CheckUnchanged), and what was opened waits for
  // that run.
  absl::optional<std::string> FindChangedRights(std::stop_token stop);

  // Whether a view goes on with an epoch of the ledger.
  bool goes_on() const;
  // Writes down what policies have learnt. Blocks for the disk.
  void KeepLearnt() { tiers_.KeepLearnt(); }

  const MountConfig& config() const { return parts_.config; }
  const SourceDir& source() const { return parts_.source; }
  Metrics& metrics() { return metrics_; }

  // Ends what copies, indexes, prefetches and reads, each before what it uses.
  // Who waits for a read is answered. Waits for reads of the source. Nothing is
  // read through the views from now on. Call before those who wait are gone.
  void Stop();

 private:
  Engine(Parts parts, std::unique_ptr<Ledger> ledger);

  PoolMemory ViewMemory() const;  // of each view
  TierMaker::Parts TierParts();
  SupplyFactory::Parts SupplyParts();
  RecordsFactory::Parts RecordParts();
  SetupTools Tools();
  using Setups = std::vector<std::shared_ptr<const ViewSetup>>;
  absl::StatusOr<Setups> MakeSetups(std::shared_ptr<const Catalogue> catalogue,
                                    const SetupTools& tools, bool& sees_opens);
  absl::StatusOr<std::unique_ptr<const ServedDataset>> MakeServed(
      std::shared_ptr<const Catalogue> catalogue, bool something_was_read);

  // In the order in which they are made; they go in the reverse order.

  // Constant after construction.
  const Parts parts_;
  const std::unique_ptr<Ledger> ledger_;  // null without state

  // Self-synchronised.
  Metrics metrics_;
  ReaderFamilies families_;
  JobNodes nodes_;
  const std::shared_ptr<DeviceFinder> devices_;
  PlaceFinder places_;
  const std::unique_ptr<LearntFactors> learnt_;  // null without state
  const std::shared_ptr<BufferPool> pool_;
  const std::shared_ptr<LoneReads> lone_;
  TierMaker tiers_;
  SupplyFactory supplies_;
  RecordsFactory records_;

  // A saved catalogue whose files' rights were not looked at. Of the thread
  // that loads.
  std::shared_ptr<const Catalogue> unchecked_;

  // Set once, before served_ publishes it.
  std::unique_ptr<const ServedDataset> served_owner_;
  std::atomic<const ServedDataset*> served_{nullptr};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_ENGINE_H_
