// SPDX-License-Identifier: Apache-2.0
#include "fs/control/status_json.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/config/value_text.h"
#include "core/records/containers/record_quality.h"
#include "core/records/epoch/record_epoch.h"
#include "core/records/epoch/seam_memory.h"
#include "core/sampler/sampler_prefetcher.h"
#include "core/view/effect.h"
#include "fs/control/peers_text.h"
#include "nlohmann/json.hpp"

namespace shufflefs {
namespace {

template <typename T>
nlohmann::ordered_json OrNull(const absl::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json IndexingView(const ViewConfig& config,
                                    const std::string& why) {
  nlohmann::ordered_json json;
  json["name"] = ViewName(config.path);
  json["path"] = config.path;
  json["policy"] = config.policy;
  json["why"] = why;
  json["seed"] = config.seed.value();
  json["epoch"] = config.epoch_start.value();
  json["epoch_state"] = "indexing";
  json["warnings"] = nlohmann::ordered_json::array();
  return json;
}

void AddEpoch(const ViewEpochStatus& epoch, nlohmann::ordered_json& json) {
  json["epoch"] = epoch.epoch.value();
  json["epoch_state"] = epoch.state;
  json["epoch_verdict"] = epoch.verdict;
  json["epoch_held"] = epoch.held;
  json["epoch_hold_reason"] = epoch.hold_reason;
  json["carried"] = epoch.retained;
  json["samples"] = epoch.samples;
  if (epoch.nodes > 0) json["nodes"] = epoch.nodes;
  json["consumed"] = OrNull(epoch.consumed);
  json["rereads"] = OrNull(epoch.rereads);
}

// Reads are counted for the whole mount, so they are known for a view only if
// it is the only one.
void AddTraffic(const StatusParts& parts, nlohmann::ordered_json& json) {
  const bool alone = parts.served->views().size() == 1;
  const PlainReads& plain = parts.served->plain();
  const StallClock::Times times = parts.metrics->stall().Read();
  json["hits"] = nullptr;  // no pool serves this policy
  json["misses"] = nullptr;
  json["bypass"] = nullptr;
  json["source_bytes"] =
      alone ? nlohmann::ordered_json(plain.bytes()) : nullptr;
  json["source_reads"] =
      alone ? nlohmann::ordered_json(plain.reads()) : nullptr;
  json["served_bytes"] =
      alone ? nlohmann::ordered_json(parts.metrics->Get(Counter::kServedBytes))
            : nullptr;
  json["pool_bytes"] = nullptr;
  json["memory_limit"] = nullptr;
  json["memory_guaranteed"] = nullptr;
  json["stall_seconds"] =
      alone ? nlohmann::ordered_json(times.stalled_seconds) : nullptr;
  json["consumer_seconds"] =
      alone ? nlohmann::ordered_json(times.consumer_seconds) : nullptr;
}

// The counters of the two pools of a view. Both read the source by one reader,
// whose counters are the same.
ProducerStatus Together(ProducerStatus samples, const ProducerStatus& records) {
  samples.memory_guaranteed += records.memory_guaranteed;
  samples.pool_bytes += records.pool_bytes;
  samples.hits += records.hits;
  samples.misses += records.misses;
  samples.bypass += records.bypass;
  samples.source_bytes = std::max(samples.source_bytes, records.source_bytes);
  samples.source_reads = std::max(samples.source_reads, records.source_reads);
  absl::StrAppend(&samples.how, "; ", records.how);
  return samples;
}

// The counters of a view's own pool.
void AddProducer(const ProducerStatus& producer, nlohmann::ordered_json& json) {
  // Adds to what the source itself returned to readers.
  const auto plus = [&json](const char* key, uint64_t count) {
    return count + (json[key].is_number() ? json[key].get<uint64_t>() : 0);
  };
  json["hits"] = producer.hits;
  json["misses"] = producer.misses;
  json["bypass"] = producer.bypass;
  json["chunk_loads"] = producer.chunk_loads;
  json["fill_rate"] = OrNull(producer.fill_rate);
  json["source_bytes"] = plus("source_bytes", producer.source_bytes);
  json["source_reads"] = plus("source_reads", producer.source_reads);
  json["pool_bytes"] = producer.pool_bytes;
  json["memory_limit"] = producer.memory_limit;
  json["memory_guaranteed"] = producer.memory_guaranteed;
  json["supply"] = producer.how;
}

// Returns the warnings.
std::vector<std::string> AddRecords(const ViewRecords& records,
                                    const ViewConfig& config,
                                    nlohmann::ordered_json& json) {
  if (records.containers == nullptr) return {};
  const ContainerReport report = records.containers->Report();
  nlohmann::ordered_json& out = json["records"];
  out["containers"] = report.containers;
  out["indexed"] = report.indexed;
  out["read_through"] = report.read_through;
  out["padded"] = report.padded;
  out["records"] = report.records;
  out["levels"] = report.levels;
  out["index_bytes"] = report.index_bytes;
  out["untouched"] = nlohmann::ordered_json::array();
  for (const UntouchedFile& each : report.untouched) {
    out["untouched"].push_back({{"path", each.path}, {"why", each.why}});
  }
  std::vector<std::string> warnings = report.warnings;
  if (config.epoch_advance != Advance::kAuto) return warnings;
  const ContainerSet& containers = *records.containers;
  const uint32_t by_hand = containers.by_hand();
  for (const auto& [stays, why] :
       {std::pair((by_hand & ContainerSet::kIndexWasRead) != 0,
                  "an index of offsets was read, whose places are those of one "
                  "epoch"),
        std::pair((by_hand & ContainerSet::kPositionsKept) != 0,
                  "a reader seeks inside containers, whose places are those of "
                  "one epoch"),
        std::pair(containers.HasAligned(),
                  "aligned containers must be read in one epoch")}) {
    if (!stays) continue;
    warnings.push_back(absl::StrCat(
        why,
        ": no pass over containers begins the next; use `control`, or "
        "name epochs by path"));
  }
  return warnings;
}

// The rate of the readers, in bytes per second, and what each tier can deliver:
// readers get the minimum of these. Null if a rate is not known.
nlohmann::ordered_json Roofline(const MiniEpochStatus& mini,
                                const TierStatus& tier,
                                const nlohmann::ordered_json& view) {
  nlohmann::ordered_json roofline = {{"reader", nullptr},
                                     {"reader_without_waiting", nullptr},
                                     {"tier", nullptr},
                                     {"source", nullptr},
                                     {"source_repeated", nullptr}};
  const double served =
      static_cast<double>(tier.tier_bytes + tier.source_bytes);
  if (view["stall_seconds"].is_number() && served > 0) {
    const double reads = view["consumer_seconds"].get<double>();
    const double waits = view["stall_seconds"].get<double>();
    if (reads + waits > 0) roofline["reader"] = served / (reads + waits);
    if (reads > 0) roofline["reader_without_waiting"] = served / reads;
  }
  if (tier.read_bytes_per_second > 0) {
    roofline["tier"] = tier.read_bytes_per_second;
  }
  if (tier.copy_bytes_per_second > 0) {
    roofline["source"] = tier.copy_bytes_per_second;
    roofline["source_repeated"] =
        tier.copy_bytes_per_second * static_cast<double>(mini.factor);
  }
  return roofline;
}

// For a view that shows samples in mini-epochs.
void AddMiniEpoch(const absl::optional<MiniEpochStatus>& mini,
                  const TierStatus& tier, nlohmann::ordered_json& json) {
  if (!mini) return;
  json["mini_epoch"] = {
      {"pass", mini->pass},      {"number", mini->mini_epoch},
      {"of", mini->mini_epochs}, {"repetition", mini->repetition},
      {"factor", mini->factor},  {"why", mini->why},
      {"ready", mini->ready},    {"shown_fewest", mini->fewest},
      {"shown_most", mini->most}};
  const uint64_t served = tier.tier_bytes + tier.source_bytes;
  const uint64_t read = tier.copied_bytes + tier.source_bytes;
  json["tier"] = {{"capacity", tier.capacity},
                  {"staged_bytes", tier.staged_bytes},
                  {"copied_bytes", tier.copied_bytes},
                  {"captured_bytes", tier.captured_bytes},
                  {"copy_bytes_per_second", tier.copy_bytes_per_second},
                  {"tier_bytes", tier.tier_bytes},
                  {"source_bytes", tier.source_bytes},
                  {"saved_bytes", served > read ? served - read : 0},
                  {"trouble", tier.health}};
  json["roofline"] = Roofline(*mini, tier, json);
}

// What was detected about jobs that draw samples in their own order, under the
// name of the policy that prefetches.
void AddPrefetch(const SamplerPrefetcherStatus& prefetcher,
                 absl::string_view policy, nlohmann::ordered_json& json) {
  nlohmann::ordered_json& out = json[std::string(policy)];
  out["jobs"] = nlohmann::ordered_json::array();
  for (const SamplerPrefetcherStatus::Job& each : prefetcher.jobs) {
    const FollowedJobStatus& job = each.job;
    out["jobs"].push_back({{"path", job.path},
                           {"files", job.files},
                           {"state", job.state},
                           {"order", job.order},
                           {"after_opens", job.after_opens},
                           {"evidence", job.evidence},
                           {"searched", OrNull(each.searched)},
                           {"search_seconds", each.search_seconds},
                           {"epochs", job.epochs},
                           {"recognised_epochs", job.recognised_epochs}});
  }
  out["opens"] = prefetcher.opens;
  out["ready"] = prefetcher.ready;
  out["ready_share"] = nullptr;
  if (prefetcher.opens > 0) {
    out["ready_share"] = static_cast<double>(prefetcher.ready) /
                         static_cast<double>(prefetcher.opens);
  }
  out["prefetched_bytes"] = prefetcher.prefetched_bytes;
  out["wasted_bytes"] = prefetcher.wasted_bytes;
}

// What names effectively show, in the words of the key.
std::string Substitution(const ViewSetup& setup, bool shows_own) {
  if (!setup.dataset->moves() || shows_own) return "never";
  return setup.config.substitute == Substitute::kTree ? "tree" : "directory";
}

// Grades the records if these are shuffled, because the order of files then
// matters less.
std::string QualityOf(const View& view, const ViewSetup& setup) {
  if (setup.policy->consumption() != Consumption::kSource &&
      ProgramOrders(setup)) {
    return "not graded: your program decides the order";
  }
  if (setup.records.producer == nullptr ||
      !ShufflesRecords(*setup.policy, setup.config, *setup.dataset)) {
    return view.ShuffleQuality();
  }
  const std::shared_ptr<RecordEpoch> epoch = view.records();
  if (epoch == nullptr) return "";
  return RecordQualityLine(*setup.dataset, *setup.records.containers,
                           epoch->policy(), epoch->seed(), epoch->epoch());
}

void AddQuality(const View& view, const ViewSetup& setup,
                nlohmann::ordered_json& json) {
  const std::string quality = QualityOf(view, setup);
  json["mixing"] = nullptr;
  if (!quality.empty()) json["mixing"] = quality;
}

// The rule for blocks that records cross, and its warning.
void AddBlockReads(const ViewSetup& setup, nlohmann::ordered_json& json,
                   std::vector<std::string>& warnings) {
  json["block_reads"] = nullptr;
  const std::shared_ptr<RecordProducer>& producer = setup.records.producer;
  if (producer == nullptr || setup.policy->stages() ||
      !ShufflesRecords(*setup.policy, setup.config, *setup.dataset)) {
    return;
  }
  const ProducerStatus status = producer->status();
  const auto seams =
      SeamMemoryOf(*setup.records.containers, setup.dataset->catalogue(),
                   setup.policy->record_blocks(), status.memory_guaranteed);
  if (!seams) return;
  json["block_reads"] = SeamLine(*seams);
  // The view keeps its share of what all views have.
  const double more = static_cast<double>(seams->enough_guarantee) /
                      static_cast<double>(status.memory_guaranteed);
  const std::string warning = SeamWarning(
      *seams, WholeMemoryFor(static_cast<uint64_t>(
                  more * static_cast<double>(status.memory_limit))));
  if (!warning.empty()) warnings.push_back(warning);
}

nlohmann::ordered_json ViewJson(const StatusParts& parts, const View& view) {
  const std::shared_ptr<const ViewSetup> setup = view.setup();
  const ViewConfig config = view.config();
  const ViewEpochStatus epoch = view.EpochStatus();
  nlohmann::ordered_json json;
  json["name"] = view.name();
  json["path"] = config.path;
  json["policy"] = std::string(setup->policy->name());
  if (config.policy != setup->config.policy) {
    json["next_policy"] = config.policy;
  }
  json["why"] = setup->why;
  json["substitute"] = Substitution(*setup, epoch.shows_own);
  json["substitute_why"] = setup->dataset->substitute_reason();
  json["groups"] = setup->dataset->grouping().group_count();
  json["layout"] = setup->config.layout == Layout::kRanked ? "ranked" : "tree";
  json["seed"] = setup->config.seed.value();
  AddEpoch(epoch, json);
  AddTraffic(parts, json);
  const std::shared_ptr<ContentProvider> provider = setup->provider();
  const std::shared_ptr<RecordProducer>& records = setup->records.producer;
  if (provider != nullptr && records != nullptr) {
    AddProducer(Together(provider->status(), records->status()), json);
  } else if (provider != nullptr) {
    AddProducer(provider->status(), json);
  } else if (records != nullptr) {
    AddProducer(records->status(), json);
  }
  if (setup->samples != nullptr) {
    AddMiniEpoch(setup->samples->sets().status(), setup->samples->sets().tier(),
                 json);
  }
  if (setup->records.staging != nullptr) {
    AddMiniEpoch(setup->records.staging->status(), setup->records.tier(), json);
  }
  std::vector<std::string> warnings =
      AddRecords(setup->records, setup->config, json);
  if (setup->prefetcher != nullptr) {
    const SamplerPrefetcherStatus prefetcher = setup->prefetcher->prefetcher();
    AddPrefetch(prefetcher, setup->policy->name(), json);
    warnings.insert(warnings.end(), prefetcher.warnings.begin(),
                    prefetcher.warnings.end());
  }
  json["reproducible"] = !setup->binds_on_demand();
  AddQuality(view, *setup, json);
  AddBlockReads(*setup, json, warnings);
  json["device"] = setup->device;
  json["warnings"] = nlohmann::ordered_json::array();
  if (const std::string warning = EffectWarning(*setup); !warning.empty()) {
    json["warnings"].push_back(warning);
  }
  for (const std::string& warning : epoch.warnings) {
    json["warnings"].push_back(warning);
  }
  for (const std::string& warning : warnings) {
    json["warnings"].push_back(warning);
  }
  return json;
}

}  // namespace

std::string StatusJson(const StatusParts& parts, int view) {
  nlohmann::ordered_json json;
  json["version"] = parts.version;
  json["source"] = parts.source;
  json["warnings"] = nlohmann::ordered_json::array();
  for (const std::string& warning : parts.warnings) {
    json["warnings"].push_back(warning);
  }
  if (parts.opens) {
    json["opens"] = {{"seen_by", OpensSeenName(parts.opens->by)},
                     {"why", parts.opens->why}};
  }
  if (parts.served != nullptr) {
    const BackingChoice& backing = parts.served->backing();
    json["passthrough"] = {{"on", backing.on}, {"why", backing.why}};
  }
  if (parts.peers) json["peers"] = PeersJson(*parts.peers);
  json["views"] = nlohmann::ordered_json::array();
  if (parts.served == nullptr) {
    for (const ViewConfig& config : parts.config->views) {
      json["views"].push_back(IndexingView(config, parts.indexing));
    }
  } else {
    for (const std::unique_ptr<View>& each : parts.served->views()) {
      if (view >= 0 && static_cast<int>(each->id()) != view) continue;
      json["views"].push_back(ViewJson(parts, *each));
    }
  }
  // Paths, and what other nodes say, may contain any bytes; JSON may not.
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace shufflefs
