// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/simulate_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/engine/producer_factory.h"
#include "core/quality/epoch_memory.h"
#include "core/quality/shuffle_quality.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/ctl/check/quality_text.h"
#include "mount-tools/ctl/check/simulated_data.h"
#include "mount-tools/ctl/check/simulated_pool.h"
#include "mount-tools/ctl/check/simulated_records.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

// The request in the words after `simulate`.
struct Request {
  ViewConfig config;
  uint64_t memory = 0;  // 0 = what a mount would use
  std::string source;   // "" = a synthetic dataset
};

bool IsSetting(const std::string& word) {
  const size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find('/') > equals;
}

// Relative paths are below the working directory, as with -o.
absl::Status ApplySetting(const std::string& word, const std::string& cwd,
                          MountConfig& mount, ViewConfig& view) {
  const size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  return SetOptionBelow(cwd, key, word.substr(equals + 1), mount, view);
}

absl::StatusOr<Request> ParseWords(const std::vector<std::string>& words,
                                   const std::string& cwd) {
  Request request;
  MountConfig mount;
  RETURN_IF_ERROR(SetOption("policy", words.front(), mount, request.config));
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (IsSetting(word)) {
      RETURN_IF_ERROR(ApplySetting(word, cwd, mount, request.config));
    } else if (request.source.empty()) {
      request.source = word;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(word,
                       ": is neither key=value nor the only SOURCE; see "
                       "shufflectl simulate --help"));
    }
  }
  RETURN_IF_ERROR(ValidateView(request.config));
  if (mount.memory_percent != 0) {
    return absl::InvalidArgumentError(
        "memory: simulate needs a size, such as 8GiB");
  }
  request.memory = mount.memory;
  return request;
}

absl::StatusOr<uint64_t> InRange(absl::string_view option,
                                 const absl::optional<uint64_t>& value,
                                 uint64_t min, uint64_t max) {
  if (value && *value >= min && *value <= max) return *value;
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": must be from ", min, " to ", max));
}

// Null if the policy has no such option.
const ModelOption* FindOption(const PolicyEntry& policy,
                              absl::string_view name) {
  for (const ModelOption& option : policy.model.options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

// For a planned order; its groups are the labels.
EpochMemory MemoryOf(const SimulatedData& data, Epoch first, uint64_t epochs) {
  uint32_t groups = 0;
  for (uint64_t s = 0; s < data.samples(); ++s) {
    groups = std::max(groups, data.label(s) + 1);
  }
  EpochMemoryMeter meter(data.samples(), groups,
                         [&data](uint64_t s) { return data.label(s); });
  std::vector<uint64_t> samples(data.samples());
  for (uint64_t i = 0; i < epochs; ++i) {
    const auto order = data.OrderOf(Epoch(first.value() + i));
    for (uint64_t at = 0; at < samples.size(); ++at) {
      samples[at] = order->SampleAt(at);
    }
    meter.Add(samples);
  }
  return meter.Report();
}

bool OrdersOnlyRecords(const Policy& policy) {
  return policy.shuffles_records() &&
         policy.consumption() == Consumption::kSource;
}

class SimulateCommand : public Command {
 public:
  absl::string_view name() const override { return "simulate"; }
  absl::string_view help() const override {
    return "how well a policy mixes and what it reads, without mounting";
  }

  void Declare(CLI::App& app) override {
    app.add_option("words", words_,
                   "the policy, keys of it, and the dataset to shuffle "
                   "(default: a made-up one)")
        ->type_name("POLICY [key=value...] [SOURCE]");
    app.add_option("--samples", samples_,
                   "samples of the made-up dataset (default: 100000)")
        ->type_name("N");
    app.add_option("--classes", classes_,
                   "classes of the made-up dataset (default: 100)")
        ->type_name("N");
    app.add_option("--bytes", bytes_,
                   "size of a sample there (default: 100KiB)")
        ->type_name("SIZE");
    app.add_option("--batch", batch_,
                   "samples that the job takes a step (default: 256)")
        ->type_name("N");
    app.add_option("--epoch", epoch_,
                   "epoch to compare with the next one (default: 0)")
        ->type_name("N");
    app.add_option("--epochs", epochs_,
                   "consecutive epochs to search for what they have in common "
                   "(default: 5)")
        ->type_name("N");
    app.add_flag("--in-place", in_place_,
                 "a chunk is files that lie together; of the made-up "
                 "dataset, those of a class (default: packed chunks)");
    for (const PolicyEntry* entry : Policies()) {
      for (const ModelOption& option : entry->model.options) {
        const std::string name(option.name);
        if (!model_words_.try_emplace(name).second) continue;
        app.add_option(name, model_words_[name], std::string(option.help))
            ->type_name(std::string(option.type));
      }
    }
    app.add_flag("--json", json_, "print JSON");
  }

  absl::Status Run(const CommandContext& context) override {
    if (words_.empty()) {
      return absl::InvalidArgumentError(
          "simulate: name a policy, e.g. shufflectl simulate lirs DATA");
    }
    const PolicyEntry* const entry = FindPolicy(Policies(), words_.front());
    RETURN_IF_ERROR(CheckModelOptions(entry));
    if (Uses(entry, ModelOption::Use::kByItself)) {
      ASSIGN_OR_RETURN(const Request request, ParseWords(words_, context.cwd));
      ASSIGN_OR_RETURN(const ModelReport report,
                       entry->model.by_itself(ModelRequestOf(request)));
      *context.out << (json_ ? report.json + "\n" : report.text);
      return absl::OkStatus();
    }
    if (entry != nullptr && !entry->not_simulated.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(entry->name, ": ", entry->not_simulated));
    }
    ASSIGN_OR_RETURN(const Request request, ParseWords(words_, context.cwd));
    ASSIGN_OR_RETURN(const uint64_t batch,
                     InRange("--batch", ParseNumber(batch_), 2, 1 << 20));
    ASSIGN_OR_RETURN(const uint64_t epoch,
                     InRange("--epoch", ParseNumber(epoch_), 0,
                             std::numeric_limits<int64_t>::max() - 1));
    ASSIGN_OR_RETURN(const uint64_t epochs,
                     InRange("--epochs", ParseNumber(epochs_), 2, 10000));
    absl::optional<ScannedSource> scanned;
    if (!request.source.empty()) {
      ASSIGN_OR_RETURN(scanned, ScanSource(request.source, context));
      ASSIGN_OR_RETURN(const absl::optional<SimulatedRecords> records,
                       SimulateRecords(request.config,
                                       request.memory != 0 ? request.memory
                                                           : DefaultMemory(),
                                       *scanned, Epoch(epoch), context));
      if (records) {
        *context.out << (json_ ? SimulatedRecordsJson(*records)
                               : SimulatedRecordsText(*records));
        return absl::OkStatus();
      }
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<const SimulatedData> data,
                     MakeData(request, scanned));
    if (scanned && OrdersOnlyRecords(data->policy())) {
      return absl::InvalidArgumentError(
          absl::StrCat(words_.front(), " shuffles records, and no file of ",
                       scanned->path, " is a container; ",
                       request.config.record.as.empty()
                           ? "name the format, such as record.as=*.csv:lines,"
                           : "correct the patterns of record.as,",
                       " or name another policy"));
    }
    if (Uses(entry, ModelOption::Use::kOverData)) {
      return RunModel(*entry, request, *data, Epoch(epoch), context);
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<const SimulatedPool> pool,
                     MakePool(request, *data, Epoch(epoch), epochs));
    const auto order_of = [&](uint64_t e) {
      return pool ? pool->OrderOf(Epoch(e)) : data->OrderOf(Epoch(e));
    };
    const std::shared_ptr<const Order> order = order_of(epoch);
    const std::shared_ptr<const Order> next = order_of(epoch + 1);
    QualityInput input;
    input.order = order.get();
    input.other = next.get();
    input.source_size = data->samples();
    input.label = [&data](uint64_t sample) { return data->label(sample); };
    input.batch = batch;
    const QualityReport report = MeasureShuffleQuality(input);
    const EpochMemory memory =
        pool ? pool->memory() : MemoryOf(*data, Epoch(epoch), epochs);
    if (json_) {
      nlohmann::ordered_json object = QualityObject(report);
      object["epoch_memory"] = EpochMemoryArray(memory);
      if (pool) object["pool"] = pool->Json();
      *context.out << object.dump() << "\n";
    } else {
      *context.out << words_.front() << " over " << data->title() << "\n"
                   << (pool ? pool->Text() : "") << QualityText(report)
                   << EpochMemoryText(memory);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::unique_ptr<const SimulatedData>> MakeData(
      const Request& request,
      const absl::optional<ScannedSource>& scanned) const;
  // Null for policies that are not reactive.
  absl::StatusOr<std::unique_ptr<const SimulatedPool>> MakePool(
      const Request& request, const SimulatedData& data, Epoch epoch,
      uint64_t epochs) const;

  // What both kinds of simulated pools have in common.
  PoolOptions OptionsFor(const Request& request,
                         const SimulatedData& data) const;
  // Refuses options of other policies.
  absl::Status CheckModelOptions(const PolicyEntry* policy) const;
  // Returns whether an option of such a use was given. `policy` may be null.
  bool Uses(const PolicyEntry* policy, ModelOption::Use use) const;
  ModelRequest ModelRequestOf(const Request& request) const;
  absl::Status RunModel(const PolicyEntry& policy, const Request& request,
                        const SimulatedData& data, Epoch epoch,
                        const CommandContext& context) const;

  std::vector<std::string> words_;
  std::string samples_ = "100000";
  std::string classes_ = "100";
  std::string bytes_ = "100KiB";
  std::string batch_ = "256";
  std::string epoch_ = "0";
  std::string epochs_ = "5";
  // The values of the policies' options. "" if one was not given.
  std::map<std::string, std::string, std::less<>> model_words_;
  bool in_place_ = false;
  bool json_ = false;
};

absl::StatusOr<std::unique_ptr<const SimulatedPool>> SimulateCommand::MakePool(
    const Request& request, const SimulatedData& data, Epoch epoch,
    uint64_t epochs) const {
  PoolOptions simulated = OptionsFor(request, data);
  const PolicyEntry* const entry = FindPolicy(Policies(), words_.front());
  if (Uses(entry, ModelOption::Use::kBinder)) {
    simulated.make_binder = [this, entry, &request](const BinderInput& input) {
      return entry->model.binder(ModelRequestOf(request), input);
    };
  }
  if (data.policy().consumption() != Consumption::kReactive) {
    return std::unique_ptr<const SimulatedPool>();
  }
  ASSIGN_OR_RETURN(PoolData pool, data.DataForPool(in_place_));
  simulated.epochs = epochs;
  return SimulatedPool::Make(std::move(pool), simulated, data.policy(), epoch);
}

PoolOptions SimulateCommand::OptionsFor(const Request& request,
                                        const SimulatedData& data) const {
  PoolOptions simulated;
  simulated.memory_bytes =
      request.memory != 0 ? request.memory : DefaultMemory();
  const PoolFacet* const chunks = data.policy().pool();
  simulated.chunk_files = chunks != nullptr ? chunks->chunk_files : 1;
  simulated.seed = request.config.seed;
  return simulated;
}

absl::Status SimulateCommand::CheckModelOptions(
    const PolicyEntry* policy) const {
  for (const auto& [name, word] : model_words_) {
    if (word.empty()) continue;
    if (policy != nullptr && FindOption(*policy, name) != nullptr) continue;
    for (const PolicyEntry* entry : Policies()) {
      if (FindOption(*entry, name) == nullptr) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(words_.front(), ": ", name, " is for ", entry->name,
                       "; use shufflectl simulate ", entry->name));
    }
  }
  return absl::OkStatus();
}

bool SimulateCommand::Uses(const PolicyEntry* policy,
                           ModelOption::Use use) const {
  if (policy == nullptr) return false;
  return absl::c_any_of(policy->model.options, [&](const ModelOption& option) {
    return option.use == use && !model_words_.find(option.name)->second.empty();
  });
}

ModelRequest SimulateCommand::ModelRequestOf(const Request& request) const {
  ModelRequest model;
  model.words.assign(words_.begin() + 1, words_.end());
  model.keys = request.config.policy_options;
  for (const auto& [name, word] : model_words_) {
    if (!word.empty()) model.given.emplace(name, word);
  }
  model.memory_bytes = request.memory != 0 ? request.memory : DefaultMemory();
  model.seed = request.config.seed;
  return model;
}

absl::Status SimulateCommand::RunModel(const PolicyEntry& policy,
                                       const Request& request,
                                       const SimulatedData& data, Epoch epoch,
                                       const CommandContext& context) const {
  ASSIGN_OR_RETURN(const PoolData pool, data.DataForPool(in_place_));
  const PoolInput input = MakePoolInput(pool, OptionsFor(request, data));
  ModelRequest model = ModelRequestOf(request);
  model.epoch = epoch;
  ASSIGN_OR_RETURN(const ModelReport report,
                   policy.model.over_data(model, {.binder = &input.binder,
                                                  .how = input.how,
                                                  .bytes = &pool.bytes}));
  if (json_) {
    *context.out << report.json << "\n";
  } else {
    *context.out << policy.name << " over " << data.title() << "\n"
                 << report.text;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const SimulatedData>> SimulateCommand::MakeData(
    const Request& request,
    const absl::optional<ScannedSource>& scanned) const {
  if (scanned) return MakeScannedData(request.config, *scanned);
  SyntheticShape shape;
  ASSIGN_OR_RETURN(shape.samples,
                   InRange("--samples", ParseNumber(samples_), 1,
                           std::numeric_limits<uint32_t>::max()));
  ASSIGN_OR_RETURN(shape.classes, InRange("--classes", ParseNumber(classes_), 1,
                                          shape.samples));
  ASSIGN_OR_RETURN(shape.bytes, InRange("--bytes", ParseBytes(bytes_), 1,
                                        uint64_t{1} << 30));
  return MakeSyntheticData(request.config, shape);
}

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() {
  return std::make_unique<SimulateCommand>();
}

}  // namespace shufflefs
