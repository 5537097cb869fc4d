// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/simulated_records.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/engine/policy_resolver.h"
#include "core/engine/records_maker.h"
#include "core/pool/pool_memory.h"
#include "core/records/containers/record_quality.h"
#include "core/records/epoch/seam_memory.h"
#include "core/view/view_setup.h"
#include "mount-tools/ctl/progress_line.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

constexpr absl::string_view kNotMixed = "not graded: no container has records";

}  // namespace

absl::StatusOr<absl::optional<SimulatedRecords>> SimulateRecords(
    const ViewConfig& config, uint64_t memory, const ScannedSource& scanned,
    Epoch epoch, const CommandContext& context) {
  SetupTools tools = ToolsWithoutMount(scanned.source, AllPolicies());
  tools.containers = [&](const ViewConfig& keys,
                         std::shared_ptr<const Dataset> dataset,
                         const Policy& policy)
      -> absl::StatusOr<std::shared_ptr<ContainerSet>> {
    if (policy.stages() || !ShufflesRecords(policy, keys, *dataset)) {
      return nullptr;
    }
    ContainerSetOptions options;
    options.padded = PaddedOf(scanned.source, *dataset);
    return ContainersOf(MountConfig(), keys, std::move(dataset), options);
  };
  ASSIGN_OR_RETURN(const std::shared_ptr<const ViewSetup> setup,
                   MakeViewSetup(config, scanned.catalogue, tools, nullptr));
  const std::shared_ptr<ContainerSet>& containers = setup->records.containers;
  if (containers == nullptr) return absl::optional<SimulatedRecords>();
  if (containers->empty()) {
    for (const std::string& warning : containers->Report().warnings) {
      *context.err << "shufflectl: " << ShownPath(warning) << "\n";
    }
    return absl::optional<SimulatedRecords>();
  }
  // The report has what the log would say about files.
  InitLog({.level = LogLevel::kError});
  {
    ProgressLine line(context, "indexing");
    ContainerSet::IndexOptions options;
    options.progress = [&](uint64_t done, uint64_t total) {
      line.Show(done, total);
    };
    containers->Index(scanned.source, options);
  }
  SimulatedRecords records;
  records.policy = std::string(setup->policy->name());
  records.source = scanned.path;
  records.containers = containers->Report();
  records.quality = RecordQualityLine(*setup->dataset, *containers,
                                      *setup->policy, config.seed, epoch);
  const auto seams =
      SeamMemoryOf(*containers, *scanned.catalogue,
                   setup->policy->record_blocks(), GuaranteeOf(memory, 1));
  if (seams) {
    records.block_reads = SeamLine(*seams);
    records.block_warning =
        SeamWarning(*seams, WholeMemoryFor(seams->enough_guarantee));
  }
  return records;
}

std::string SimulatedRecordsText(const SimulatedRecords& records) {
  const ContainerReport& report = records.containers;
  const bool one_level = report.levels.size() == 1;
  std::string text = absl::StrCat(
      records.policy, " over ", ShownPath(records.source), ": ",
      HumanCount(report.records), " ",
      one_level ? report.levels.begin()->first : std::string("records"), " in ",
      Counted(report.indexed, "container", "containers"), "\n");
  const bool graded =
      !records.quality.empty() && !absl::StartsWith(records.quality, "not ");
  absl::StrAppend(
      &text, graded ? "grade " : "",
      records.quality.empty() ? std::string(kNotMixed) : records.quality, "\n");
  if (!records.block_reads.empty()) {
    absl::StrAppend(&text, "block reads: ", ShownPath(records.block_reads),
                    "\n");
  }
  if (!records.block_warning.empty()) {
    absl::StrAppend(&text, "warning: ", ShownPath(records.block_warning), "\n");
  }
  for (const std::string& warning : report.warnings) {
    absl::StrAppend(&text, "warning: ", ShownPath(warning), "\n");
  }
  for (const UntouchedFile& file : report.untouched) {
    absl::StrAppend(&text, "untouched: ", ShownPath(file.path), ": ",
                    ShownPath(file.why), "\n");
  }
  return text;
}

std::string SimulatedRecordsJson(const SimulatedRecords& records) {
  using Json = nlohmann::ordered_json;
  const ContainerReport& report = records.containers;
  Json untouched = Json::array();
  for (const UntouchedFile& file : report.untouched) {
    untouched.push_back({{"path", file.path}, {"why", file.why}});
  }
  std::vector<std::string> warnings = report.warnings;
  if (!records.block_warning.empty()) warnings.push_back(records.block_warning);
  const Json json = {
      {"policy", records.policy},     {"source", records.source},
      {"containers", report.indexed}, {"records", report.records},
      {"mixing", records.quality},    {"block_reads", records.block_reads},
      {"warnings", warnings},         {"untouched", untouched}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shufflefs
