// SPDX-License-Identifier: Apache-2.0
// ViewSetup is everything of a view that a configuration decides: its dataset,
// its policy and its ranked names. It is prepared as a whole, so that a policy
// switch either works or changes nothing. It is installed at an epoch boundary.
#ifndef SHUFFLEFS_CORE_VIEW_VIEW_SETUP_H_
#define SHUFFLEFS_CORE_VIEW_VIEW_SETUP_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/files/reach.h"
#include "core/binding/nodes/shared_names.h"
#include "core/binding/ranked_names.h"
#include "core/config/config.h"
#include "core/dataset/dataset.h"
#include "core/policy/policy_entry.h"
#include "core/policy/read_before.h"
#include "core/pool/read_ahead.h"
#include "core/pool/sample_producer.h"
#include "core/records/containers/container_set.h"
#include "core/records/content/record_producer.h"
#include "core/records/epoch/record_staging.h"
#include "core/source/physical.h"
#include "core/source/source_dir.h"
#include "core/staging/tier_status.h"

namespace shufflefs {

class NamePredictor;      // core/sampler/name_predictor.h
class SamplerPrefetcher;  // core/sampler/sampler_prefetcher.h

struct ResolvedPolicy {
  std::shared_ptr<const Policy> policy;  // never "auto"
  std::string why;                       // one line for `status`
  std::string device;                    // what was measured; "" if nothing was
};

// Returns the policy that a configuration names, resolving `auto`. May measure
// the device. Errors: InvalidArgument naming the key.
using PolicyResolver = std::function<absl::StatusOr<ResolvedPolicy>(
    const ViewConfig& config, const Dataset& dataset)>;

// The files of a view that are read ahead.
struct PlainFiles {
  // Null: all files are. Else only those that these do not cover, and the
  // memory of the records has a part of what is guaranteed to the view.
  std::shared_ptr<const ContainerSet> containers;
  uint64_t bytes = 0;  // together, if there are containers
};

// Makes the read-ahead along a planned policy's orders. Returns null if this
// would gain nothing. May measure the device and ask where samples are on it.
using ReadAheadMaker = std::function<absl::StatusOr<std::shared_ptr<ReadAhead>>(
    std::shared_ptr<const Dataset> dataset, const PlainFiles& files)>;

// Makes the prefetcher, which predicts what readers open. Returns null if
// prefetching would gain nothing. May measure the device and ask where samples
// are on it. `read_before`: as in SamplerPrefetcher::Parts.
using SamplerPrefetcherMaker =
    std::function<absl::StatusOr<std::shared_ptr<SamplerPrefetcher>>(
        const PrefetchFacet& facet, std::shared_ptr<const Dataset> dataset,
        const PlainFiles& files, bool read_before)>;

// Finds the containers of a view by their names. Returns null if there is
// nothing to shuffle and nothing to report. If the policy leaves records in
// their order, only padded containers count. Errors: InvalidArgument naming the
// key.
using ContainersMaker =
    std::function<absl::StatusOr<std::shared_ptr<ContainerSet>>(
        const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
        const Policy& policy)>;

// The containers of a view, and the memory in which their files are made. There
// is no producer if all containers are left untouched.
struct ViewRecords {
  std::shared_ptr<ContainerSet> containers;
  std::shared_ptr<RecordProducer> producer;
  // If the policy stages: what the faster tier should hold, and that tier.
  // Otherwise null and empty.
  std::shared_ptr<RecordStaging> staging;
  std::function<TierStatus()> tier;
};

struct WantedRecords {
  std::shared_ptr<ContainerSet> containers;  // not empty
  // What else has a part of the memory that is guaranteed to the view.
  bool beside_supply = false;
  uint64_t plain_bytes = 0;  // PlainFiles::bytes; 0: none are read ahead
};

// Makes the memory of a view's records, and has them indexed, which goes on
// after the call. All pointers are null if there is too little memory for them
// beside a producer. May measure the device. Errors: InvalidArgument naming the
// key.
using RecordsMaker = std::function<absl::StatusOr<ViewRecords>(
    const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
    const Policy& policy, const WantedRecords& wanted)>;

// Makes the producer of a reactive policy's view. It leaves out what the
// producer of `records` answers, and shares the view's memory with that
// producer. May measure the device and ask where samples are on it. Errors:
// InvalidArgument naming the key.
using SampleProducerMaker =
    std::function<absl::StatusOr<std::shared_ptr<SampleProducer>>(
        const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
        const Policy& policy, const ViewRecords& records)>;

// Finds the address of each sample's first file, by SampleId. May ask the
// source about each.
using AddressFinder =
    std::function<absl::StatusOr<DeviceLayout>(const Dataset& dataset)>;

// Returns the text of the file that the key `groups` names; "" if it names
// none. Errors: InvalidArgument naming the key.
absl::StatusOr<std::string> ReadGroups(const PathReach& reach,
                                       const std::string& path);

// Finds these places. Asks the source each time, except for what
// `options.known` has.
absl::StatusOr<DeviceLayout> SampleAddresses(const SourceDir& source,
                                             const Dataset& dataset,
                                             const PhysicalOptions& options);

// Asks another node of the job what names of the view at `path` show, as
// SharedNames::Ask.
using NameAsker = std::function<void(
    const std::string& path, const SharedNames::Question& question,
    std::chrono::milliseconds within, SharedNames::Answer answer)>;

// Makes what predicts the names that are looked up next; `ask` is told them.
// Returns null if there is no memory for their samples.
using NamePredictorMaker = std::function<std::shared_ptr<NamePredictor>(
    std::shared_ptr<const Dataset> dataset,
    std::function<void(const std::vector<SampleId>&)> ask)>;

// The tools that make a setup.
struct SetupTools {
  PolicyTable policies;  // outlives what is made
  PolicyResolver resolver;
  AddressFinder addresses;  // for policies that work in blocks
  // Empty if nothing is mounted. Then names show what the plan says.
  SampleProducerMaker samples;
  ReadAheadMaker ahead;
  SamplerPrefetcherMaker prefetcher;
  ContainersMaker containers;
  RecordsMaker records;          // goes with `containers`
  NameAsker ask;                 // empty if the job has no other nodes
  NamePredictorMaker predictor;  // goes with `ask`; may be empty
  // As SharedNames::Parts::begins, of the view at `path`. Goes with `ask`.
  std::function<void(const std::string& path, uint64_t binding)> names_begin;
  // As SharedNames::Parts::waits.
  std::function<void()> waits;
  PathReach reach;                 // opens the groups file; may be empty
  std::vector<std::string> views;  // the paths of all views of the mount
  SafetyByDir verdicts;            // on some of the catalogue's directories
};

struct ViewSetup {
  ViewConfig config;
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const RankedNames> ranked;
  std::shared_ptr<const Policy> policy;
  std::string why;
  std::string device;        // what is known of it; "" if nobody asked
  uint64_t groups_hash = 0;  // of the text of `groups`; 0 without one
  // OptionsHash(config, …), and of what the keys name: the text of `groups`,
  // and for a policy that works in blocks the places of samples on the device.
  uint64_t options_hash = 0;
  // Not null if names are bound on demand, or if memory keeps what was read.
  std::shared_ptr<SampleProducer> samples;
  // Not null if names are bound on demand together with other nodes.
  std::shared_ptr<SharedNames> shared;
  // Not null if their owners are asked ahead of the lookups.
  std::shared_ptr<NamePredictor> predictor;
  // Not null if orders that are known in advance are read ahead.
  std::shared_ptr<ReadAhead> ahead;
  // Not null if orders are predicted and read ahead. Then each name shows its
  // own sample.
  std::shared_ptr<SamplerPrefetcher> prefetcher;

  // Not null if records inside containers are shuffled, or if padding between
  // them is hidden.
  ViewRecords records;

  // Returns what answers reads of samples. Null: the source does.
  std::shared_ptr<ContentProvider> provider() const;
  // Returns whether a RecordEpoch shows the file. Nothing else prefetches it.
  bool ShowsRecordsOf(EntryId file) const {
    return records.producer != nullptr && records.containers->Covers(file);
  }
  // Thread `reader` (0 = hidden) has looked `name` up.
  void NoteLookup(EntryId name, uint32_t reader,
                  std::chrono::milliseconds now) const;
  // Thread `reader` (0 = hidden) has opened `file`.
  void NoteOpen(EntryId file, uint32_t reader,
                std::chrono::milliseconds now) const;
  // The same if the kernel reported it afterwards. No close will be told.
  void NoteReportedOpen(EntryId file, uint32_t reader,
                        std::chrono::milliseconds now) const;
  bool binds_on_demand() const { return samples != nullptr && rebinds(); }
  // Returns whether, besides, an epoch may show a sample under several names or
  // none.
  bool repeats() const { return binds_on_demand() && samples->repeats(); }
  // Returns whether samples of ranked names come from a faster tier.
  bool stages_ranks() const {
    return config.layout == Layout::kRanked && policy->stages();
  }
  // Returns whether what a name shows depends on the epoch.
  bool rebinds() const {
    return dataset->moves() && config.layout == Layout::kTree &&
           policy->consumption() != Consumption::kSource;
  }
};

// Returns whether the policy shuffles the records of the view's containers. One
// that binds names on demand does so only beside names that move.
bool ShufflesRecords(const Policy& policy, const ViewConfig& config,
                     const Dataset& dataset);

// Returns whether names or records of the view differ between epochs.
bool ShowsEpochs(const ViewSetup& setup);
// Returns whether a pass over containers may begin an epoch. If names move, it
// may not, because each sample must be shown first: containers follow the epoch
// of the samples.
bool PassesOfRecordsCount(const ViewSetup& setup);
// What of `read` counts for the view. Where names move, it may be anything: an
// open of any name may have begun a pass.
ReadBefore ReadBeforeOf(const FilesRead& read, const ViewSetup& setup);
// Returns whether a switch from `now` to `next` takes effect within a pass:
// names and records are the same in all epochs of both, and no open shows where
// a pass ends.
bool SwitchesInPass(const ViewSetup& now, const ViewSetup& next);

// Returns a hash that differs between configurations that bind names
// differently, apart from the policy's name, the seed and `substitute`. The
// same values give the same hash in every version. Ledgers keep
// ViewSetup::options_hash, which is this one where no key names anything else.
uint64_t OptionsHash(const ViewConfig& config, PolicyTable policies);

// Prepares a setup. This may take seconds. It reads the groups file. For
// policies that work in blocks, it asks the source for the device addresses of
// all samples. Do not call it from a thread that serves readers' requests,
// except for that of a control write. `reuse` (may be null) gives its dataset
// to the new setup if the keys that decide the dataset are the same.
absl::StatusOr<std::shared_ptr<const ViewSetup>> MakeViewSetup(
    const ViewConfig& config, std::shared_ptr<const Catalogue> catalogue,
    const SetupTools& tools, const ViewSetup* reuse);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_VIEW_SETUP_H_
