// SPDX-License-Identifier: Apache-2.0
// Engine owns everything that serves a dataset, made from a configuration. A
// mount, your own program and tests use it in the same way. It knows no FUSE,
// no TOML and no command line, and only the policies that it is given.
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
#include "core/base/files/reach.h"
#include "core/base/metrics.h"
#include "core/config/config.h"
#include "core/engine/device_address_finder.h"
#include "core/engine/device_finder.h"
#include "core/engine/policy_set.h"
#include "core/engine/producer_factory.h"
#include "core/engine/records_maker.h"
#include "core/engine/saved_factors.h"
#include "core/engine/served_dataset.h"
#include "core/engine/state_dir.h"
#include "core/engine/tier_maker.h"
#include "core/job_epochs/job_epochs.h"
#include "core/ledger/ledger.h"
#include "core/peers/peer_transport.h"
#include "core/peers/peers.h"
#include "core/policy/read_before.h"
#include "core/pool/bypass_reads.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/pool_memory.h"
#include "core/readers/job_nodes.h"
#include "core/readers/job_tracker.h"
#include "core/sampler/cached_finder.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

class OpenReports;  // core/epoch/open_reports.h

// Thread-safe, except for Load and FindChangedRights, which one thread calls,
// and Stop, which comes after them.
class Engine {
 public:
  // Called when names are rebound, as in View::Parts. Whoever shows the names
  // may set them; the defaults do nothing.
  struct Hooks {
    std::function<void(bool were_fixed)> on_rebind = [](bool) {};
    std::function<void()> on_committed;
    std::function<void()> on_doubted;
    // A thread that serves a request is about to wait for other nodes, or until
    // names are rebound. May be empty.
    std::function<void()> waits;
    // What the kernel has in its own memory of the mount. May be empty.
    CachedFinder cached;
    // As JobEpochs::Parts::prepare. May be empty.
    std::function<absl::StatusOr<KeySwitch::Install>(
        const std::string& path, const std::string& settings)>
        switched;
  };
  struct Parts {
    MountConfig config;  // at least one view
    // The views as the command line has them. What was switched since is not
    // compared when peers join, but by their messages, and gives no view
    // another part of the tier. Empty: as in `config`.
    std::vector<ViewConfig> given;
    SourceDir source;  // of config.source
    PolicySet policies;
    std::string version;  // of the program; peers must have the same
    // Carries bytes between peers. Needed if config.peers is set.
    PeerTransportMaker make_transport;
    // Keeps catalogue, ledger, indexes and the like; outlives the engine. Null:
    // nothing is kept, and no epoch is resumed.
    const StateDir* state = nullptr;
    // The configuration that each view ran when a process ended before it could
    // switch to its new one. Empty, or one per view.
    std::vector<absl::optional<ViewConfig>> running;
    // Opens paths of the configuration. Needed if something is to be mounted.
    PathReach reach;
    Hooks hooks;
  };

  // Opens the ledger. Errors: those of Ledger::Open.
  static absl::StatusOr<std::unique_ptr<Engine>> Make(Parts parts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  struct LoadOptions {
    std::stop_token stop;
    // Called from time to time with the entries found so far. May be empty.
    std::function<void(uint64_t entries)> progress;
    // Says what readers read of the source before. Where they did, names and
    // records that move wait for the next boundary. Called once, when the
    // catalogue is there. Empty: nothing.
    std::function<FilesRead()> read_before;
    // Reports opens to the views, from View::ExpectReports on. Outlives the
    // engine. Null: `no_reports` says why, in one clause.
    OpenReports* reports = nullptr;
    std::string no_reports = "nothing reports opens";
    // Why names cannot move while opens are reported; "" if they can.
    std::string no_rebinding;
    // Why the kernel cannot read files of the source by itself, in one clause;
    // "" if it can.
    std::string no_backing = "nothing is mounted";
    uint64_t least_backed = kLeastBackedBytes;
  };
  // Makes the views over the saved catalogue if it still fits the source,
  // otherwise over a new scan. Call once. Blocks for the scan, and while
  // devices are measured. The result lives as long as the engine. Errors: those
  // of Scan, and of MakeViewSetup, naming the view.
  absl::StatusOr<const ServedDataset*> Load(const LoadOptions& options);
  // Null before Load.
  const ServedDataset* served() const {
    return served_.load(std::memory_order_acquire);
  }

  // If there are many files, Load trusts the rights in a saved catalogue,
  // because to check each takes as long as a scan. This function checks them.
  // Call it after Load, on the same thread. Returns what changed, if anything;
  // then the next run scans again. Files whose rights were taken away meanwhile
  // are given to nobody (CheckUnchanged). Files whose rights were added wait
  // for the next run.
  absl::optional<std::string> FindChangedRights(std::stop_token stop);

  // Returns whether a view resumes an epoch of the ledger.
  bool goes_on() const;
  // Saves what policies have learnt. Blocks for the disk.
  void SaveFactors() { tiers_.SaveFactors(); }

  const MountConfig& config() const { return parts_.config; }
  const SourceDir& source() const { return parts_.source; }
  // Null without `peers`, and before Load.
  const Peers* peers() const { return peers_.load(std::memory_order_acquire); }
  Metrics& metrics() { return metrics_; }

  // Stops copying, indexing, prefetching and reading, each before what it uses.
  // Answers everybody who waits for a read. Blocks until reads of the source
  // have ended. From now on nothing is read through the views. Call it before
  // you destroy those who wait.
  void Stop();

 private:
  Engine(Parts parts, std::unique_ptr<Ledger> ledger);

  PoolMemory ViewMemory() const;  // per view
  absl::Status JoinPeers(std::shared_ptr<const Catalogue> catalogue);
  // Null if there is none yet.
  const View* ViewAt(const std::string& path) const;
  void TakeHolders(Peers::Parts& parts);
  void TakeSamples(Peers::Parts::Samples& samples);
  // As Peers::Parts::read_held, and SharedNames::Ask of the view at `path`.
  bool ReadHeld(EntryId file, uint64_t offset, uint64_t length,
                const Peers::ExtentDone& done) const;
  void AskPeers(const std::string& path, const SharedNames::Question& question,
                std::chrono::milliseconds within,
                SharedNames::Answer answer) const;
  // Lets the job's daemons agree on the epochs of these views.
  void JoinEpochs(const std::vector<std::unique_ptr<View>>& views);
  std::unique_ptr<FileReader> MakeReader(const FileReaderOptions& options);
  TierMaker::Parts TierParts();
  ProducerFactory::Parts ProducerParts();
  RecordsFactory::Parts RecordParts();
  SetupTools Tools();
  // As far as it depends on the source and the job.
  BackingChoice BackingFor(const Catalogue& catalogue,
                           const LoadOptions& options) const;
  using Setups = std::vector<std::shared_ptr<const ViewSetup>>;
  absl::StatusOr<Setups> MakeSetups(std::shared_ptr<const Catalogue> catalogue,
                                    const SetupTools& tools);
  absl::StatusOr<std::unique_ptr<const ServedDataset>> MakeServed(
      std::shared_ptr<const Catalogue> catalogue, const LoadOptions& options);

  // Members are in the order of construction, and destroyed in reverse.

  // Constant after construction.
  const Parts parts_;
  const std::unique_ptr<Ledger> ledger_;  // null without state

  // Self-synchronised.
  Metrics metrics_;
  JobTracker job_tracker_;
  JobNodes nodes_;
  const std::shared_ptr<DeviceFinder> devices_;
  DeviceAddressFinder places_;
  const std::unique_ptr<SavedFactors> saved_factors_;  // null without state
  const std::shared_ptr<BufferPool> pool_;
  const std::shared_ptr<BypassReads> bypass_;
  std::unique_ptr<JobEpochs> job_epochs_;  // null without `peers`
  std::unique_ptr<Peers> peers_owner_;     // set by Load, before any reader
  std::atomic<const Peers*> peers_{nullptr};
  TierMaker tiers_;
  ProducerFactory producers_;
  RecordsFactory records_;

  // A saved catalogue whose rights were not checked yet. Only the thread that
  // loads uses it.
  std::shared_ptr<const Catalogue> unchecked_;
  SafetyByDir verdicts_;  // on the views of the catalogue; set by Load

  // Set once, before served_ publishes it.
  std::unique_ptr<const ServedDataset> served_owner_;
  std::atomic<const ServedDataset*> served_{nullptr};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_ENGINE_H_
