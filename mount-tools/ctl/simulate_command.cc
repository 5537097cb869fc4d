// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/simulate_command.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/mixing.h"
#include "core/status.h"
#include "mount-tools/ctl/mixing_text.h"
#include "mount-tools/ctl/simulated_data.h"
#include "mount-tools/option_table.h"
#include "mount-tools/value_text.h"

namespace shufflefs {
namespace {

// What the words behind `simulate` ask for.
struct Request {
  ViewConfig config;
  std::string source;  // "" = a synthetic dataset
};

bool IsSetting(const std::string& word) {
  const size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find('/') > equals;
}

absl::StatusOr<Request> ParseWords(const std::vector<std::string>& words) {
  Request request;
  MountConfig mount;
  RETURN_IF_ERROR(SetOption("policy", words.front(), mount, request.config));
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equals = word.find('=');
    if (IsSetting(word)) {
      RETURN_IF_ERROR(SetOption(word.substr(0, equals), word.substr(equals + 1),
                                mount, request.config));
    } else if (request.source.empty()) {
      request.source = word;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(word, ": is neither key=value nor the only SOURCE"));
    }
  }
  RETURN_IF_ERROR(ValidateView(request.config));
  return request;
}

absl::StatusOr<uint64_t> InRange(absl::string_view option,
                                 const absl::optional<uint64_t>& value,
                                 uint64_t min, uint64_t max) {
  if (value && *value >= min && *value <= max) return *value;
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": must be from ", min, " to ", max));
}

class SimulateCommand : public Command {
 public:
  absl::string_view name() const override { return "simulate"; }
  absl::string_view help() const override {
    return "how well a policy mixes, without mounting";
  }

  void Declare(CLI::App& app) override {
    app.add_option("words", words_,
                   "the policy, keys of it, and the dataset to shuffle "
                   "(default: a made-up one)")
        ->type_name("POLICY [key=value...] [SOURCE]")
        ->required();
    app.add_option("--samples", samples_,
                   "of the made-up dataset (default: 100000)")
        ->type_name("N");
    app.add_option("--classes", classes_,
                   "of the made-up dataset (default: 100)")
        ->type_name("N");
    app.add_option("--bytes", bytes_,
                   "of a sample of the made-up dataset (default: 100KiB)")
        ->type_name("SIZE");
    app.add_option("--batch", batch_,
                   "samples that the job takes a step (default: 256)")
        ->type_name("N");
    app.add_option("--epoch", epoch_,
                   "compared with the one behind it (default: 0)")
        ->type_name("N");
    app.add_flag("--json", json_, "print JSON");
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const Request request, ParseWords(words_));
    ASSIGN_OR_RETURN(const uint64_t batch,
                     InRange("--batch", ParseNumber(batch_), 2, 1 << 20));
    ASSIGN_OR_RETURN(const uint64_t epoch,
                     InRange("--epoch", ParseNumber(epoch_), 0,
                             std::numeric_limits<int64_t>::max() - 1));
    ASSIGN_OR_RETURN(const std::unique_ptr<const SimulatedData> data,
                     MakeData(request, context));
    const std::shared_ptr<const Order> order = data->OrderOf(Epoch(epoch));
    const std::shared_ptr<const Order> next = data->OrderOf(Epoch(epoch + 1));
    MixingInput input;
    input.order = order.get();
    input.other = next.get();
    input.source_size = data->samples();
    input.label = [&data](uint64_t sample) { return data->label(sample); };
    input.batch = batch;
    const MixingReport report = MeasureMixing(input);
    if (json_) {
      *context.out << MixingJson(report) << "\n";
    } else {
      *context.out << words_.front() << " over " << data->title() << "\n"
                   << MixingText(report);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::unique_ptr<const SimulatedData>> MakeData(
      const Request& request, const CommandContext& context) const;

  std::vector<std::string> words_;
  std::string samples_ = "100000";
  std::string classes_ = "100";
  std::string bytes_ = "100KiB";
  std::string batch_ = "256";
  std::string epoch_ = "0";
  bool json_ = false;
};

absl::StatusOr<std::unique_ptr<const SimulatedData>> SimulateCommand::MakeData(
    const Request& request, const CommandContext& context) const {
  if (!request.source.empty()) {
    ASSIGN_OR_RETURN(const ScannedSource scanned,
                     ScanSource(request.source, context));
    return MakeScannedData(request.config, scanned);
  }
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
